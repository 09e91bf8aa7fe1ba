// Package story runs the whole workflow of polex with real services on loopback. A team requests an
// exception in a pull request. It is merged and signed, and reaches the cluster, where it exempts
// one Pod from one rule. Every other attempt is rejected with its reason.
//
//  1. Fulcio, its CT log and Rekor, on Trillian and PostgreSQL (package sigstore). Only the
//     OpenID issuer is the sandbox's, in the role of GitHub's.
//  2. etcd, the API server, and Kyverno with exceptions enabled (package cluster), with two
//     policies for Pods of each kind of Kyverno, and older Pods that violate them.
//  3. polex-guard, with an account that has the delivered permissions. It trusts only the merge
//     workflow of one repository on main.
//  4. A Git server with that repository, made of examples/github, and act as the runner of its
//     workflows (packages gitserver and github).
//  5. Argo CD, which applies signed exceptions with the Application of examples/argocd.
//
// [Start] starts everything, for the tests and for `make e2e-up`.
package story

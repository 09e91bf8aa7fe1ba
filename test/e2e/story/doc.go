// Package story plays the whole of polex with everything real, on loopback: a team
// asks for an exception in a pull request, it is merged and signed, and it reaches
// the cluster, where it lets one Pod past one rule; and whatever else somebody brings
// to that cluster is refused, with its reason.
//
//  1. Fulcio, its certificate log and Rekor, on Trillian and PostgreSQL (package
//     sigstore). The OpenID issuer alone is the sandbox's: it plays GitHub's.
//  2. etcd, the API server, and Kyverno with exceptions switched on (package
//     cluster), with two policies for Pods of each kind that Kyverno has, and Pods
//     that are older than those and break them.
//  3. polex-guard, by an account with the rights that are delivered, which trusts the
//     merge workflow of one repository at main and nobody else.
//  4. A Git server with that repository, made of examples/github, and act as the
//     runner of its workflows (packages gitserver and github).
//  5. Argo CD, which applies what is signed, by the Application of examples/argocd.
//
// [Start] starts it all, for the tests and for `make e2e-up` alike.
package story

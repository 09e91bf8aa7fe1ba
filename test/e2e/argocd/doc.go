// Package argocd runs a real Argo CD on loopback for the end-to-end tests: what
// renders and what applies, as processes, on a cluster that [cluster.Start] began.
//
//  1. Argo CD's definitions and its configuration are read from its own source and
//     applied, with the namespace argocd.
//  2. Redis, the repository server and the application controller start.
//  3. A config management plugin, which in a cluster is a container beside the
//     repository server, is one more process: [ArgoCD.StartPlugin].
//
// There is no API server of Argo CD's and no web page: what those do, tests do by
// writing Applications. The cluster is https://kubernetes.default.svc to it, as from
// inside.
//
// Every process is ended by [ArgoCD.Close]. The controller's metrics are the one
// thing that listens on every address, which no setting of Argo CD changes.
package argocd

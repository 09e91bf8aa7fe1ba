// Package argocd runs a real Argo CD on loopback for the end-to-end tests: the servers that render
// and apply, as processes, with a cluster of [cluster.Start].
//
//  1. It reads Argo CD's definitions and configuration from its source and applies them, with
//     the namespace argocd.
//  2. It starts Redis, the repository server and the application controller.
//  3. A config management plugin, in a cluster a container beside the repository server, is a
//     further process: [ArgoCD.StartPlugin].
//
// There is neither Argo CD's API server nor its web page. Tests write Applications instead. For
// Argo CD, the cluster is https://kubernetes.default.svc, as from inside.
//
// [ArgoCD.Close] stops every process. Only the controller's metrics listen on every address,
// because Argo CD has no setting for that.
package argocd

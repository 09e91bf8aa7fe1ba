// Package cluster runs a real API server and Kyverno's admission controller as processes on
// loopback, for the end-to-end tests. It needs no containers: Kyverno's webhooks have addresses
// instead of a Service, and nothing schedules Pods.
//
//  1. It starts etcd and kube-apiserver on free ports, with a new administrator's token.
//  2. It reads the definitions, ConfigMaps and ServiceAccounts that Kyverno needs from Kyverno's
//     source, and creates them.
//  3. It starts Kyverno. Kyverno is ready when its webhook rejects an exception of each API group
//     with a reason of its own.
//
// [Cluster.Close] stops every process. The logs stay until then.
package cluster

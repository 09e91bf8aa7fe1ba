// Package cluster runs a real API server, and Kyverno's admission controller
// beside it, as processes on loopback for the end-to-end tests. It needs no
// container engine: Kyverno's webhooks are reached by address instead of through
// a Service, and nothing schedules a Pod.
//
//  1. etcd and kube-apiserver start on free ports, with one administrator's
//     token made for this run.
//  2. The definitions, ConfigMaps and ServiceAccounts that Kyverno needs are
//     read from its own source and created.
//  3. Kyverno starts, and is ready once its webhook has refused an exception of
//     each API group for a reason that only Kyverno has.
//
// Every process is ended by [Cluster.Close], and its log is kept until then.
package cluster

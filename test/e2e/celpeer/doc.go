// Package celpeer compares the CEL environment of pkg/shape with the one of Kyverno 1.19 for match
// conditions of an exception. It is a separate module, because that environment requires
// k8s.io/apiserver.
package celpeer

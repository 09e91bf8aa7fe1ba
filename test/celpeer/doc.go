// Package celpeer holds the CEL environment of pkg/shape against the one in
// which Kyverno 1.19 admits the match conditions of an exception. It is a module
// of its own, for that environment is made by k8s.io/apiserver.
package celpeer

// Package request tests the drafts of polex-request with Kyverno: each draft must exempt its
// violation, and nothing else. Kyverno's CLI checks drafts for the policies of Kyverno's own tests.
// A real Kyverno with a real API server checks one from denial to admission.
package request

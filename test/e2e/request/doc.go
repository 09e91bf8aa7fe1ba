// Package request holds the drafts of polex-request against Kyverno itself: does
// each answer its violation, and nothing else? Kyverno's CLI judges drafts for the
// policies of Kyverno's own tests, and a real Kyverno in a real API server judges
// one from denial to admission.
package request

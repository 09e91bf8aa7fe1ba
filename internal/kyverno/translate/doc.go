// Package translate writes an exception of kyverno.io as one of
// policies.kyverno.io, which Kyverno 1.20 still heeds, where that exempts exactly
// the same ([Exception]).
package translate

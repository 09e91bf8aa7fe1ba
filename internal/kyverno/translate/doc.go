// Package translate rewrites an exception of kyverno.io as an exception of policies.kyverno.io,
// which Kyverno 1.20 still supports. It does so only if both exempt exactly the same ([Exception]).
package translate

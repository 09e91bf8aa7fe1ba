package kyverno

import "github.com/polex-dev/polex/internal/kyverno/wildcard"

// MaxWork is the work that is done for one exception.
const MaxWork = maxWork

// WorkOf returns the work that asking whether an exception reaches the guard takes.
func WorkOf(e *Exception, guard Guard) int {
	a := &asking{guard: guard, work: &wildcard.Meter{Left: maxWork}}
	a.exception(e)
	return maxWork - a.work.Left
}

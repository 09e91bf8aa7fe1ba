package kyverno

import "github.com/polex-dev/polex/internal/kyverno/wildcard"

// MaxWork is the limit of the work for one exception.
const MaxWork = maxWork

// WorkOf returns the work of ReachesGuard for an exception.
func WorkOf(e *Exception, guard Guard) int {
	a := &asking{guard: guard, work: &wildcard.Meter{Left: maxWork}}
	a.exception(e)
	return maxWork - a.work.Left
}

package shape

import (
	"cmp"
	"slices"
	"time"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/expression"
	"github.com/polex-dev/polex/pkg/exception"
)

// Severity says whether a finding refuses an exception.
type Severity = exception.Severity

// The severities of a finding. The zero value refuses.
const (
	Error   = exception.SeverityError
	Warning = exception.SeverityWarning
)

// Finding is one thing that is wrong with an exception's shape.
type Finding struct {
	Reason   string // one of [Reasons], or the name of a [Rule]
	Severity Severity
	Path     exception.Path
	Position exception.Position
	Message  string // untrusted text quoted
	Hint     string // what to do about it; may be empty
}

// maxFindings bounds what one document can put on a report, of each severity and of
// [ReasonReachesGuard]: warnings must not crowd out what refuses it, nor other refusals
// what reaches the guard.
const maxFindings = 200

// crowd is what a finding is counted with.
func (f *Finding) crowd() string {
	if f.Reason == ReasonReachesGuard {
		return f.Reason
	}
	return f.Severity.String()
}

// subject is the document that the checks look at, and what they found.
type subject struct {
	*kyverno.Exception
	Doc        *exception.Document
	Said       *exception.Exception // what it says of itself
	now        time.Time
	config     *Config
	guard      kyverno.Guard
	release    kyverno.Release // 0 is not asked
	found      []Finding
	severities map[string]Severity // by reason
	counts     map[string]int      // by [Finding.crowd]

	rules    []compiledRule
	language *expression.Language // of match conditions
	compiled []matchCondition     // see conditions
}

// find adds something that weighs what its reason does.
func (s *subject) find(reason string, path exception.Path, message, hint string) {
	s.add(Finding{Reason: reason, Severity: s.severities[reason], Path: path, Message: message, Hint: hint})
}

// warn adds something of a reason that some of its findings are milder than: [Reason.Milder].
func (s *subject) warn(reason string, path exception.Path, message, hint string) {
	s.add(Finding{Reason: reason, Severity: Warning, Path: path, Message: message, Hint: hint})
}

func (s *subject) add(f Finding) {
	if !s.config.weigh(&f) || s.counts[f.crowd()] >= maxFindings {
		return
	}
	s.counts[f.crowd()]++
	if f.Position == (exception.Position{}) {
		f.Position = s.Doc.PositionOf(f.Path)
	}
	s.found = append(s.found, f)
}

func sorted(found []Finding) []Finding {
	slices.SortStableFunc(found, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(a.Position.Line, b.Position.Line),
			cmp.Compare(a.Position.Column, b.Position.Column),
			cmp.Compare(a.Severity, b.Severity),
			cmp.Compare(a.Reason, b.Reason),
		)
	})
	return found
}

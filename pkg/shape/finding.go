package shape

import (
	"cmp"
	"slices"
	"time"

	"github.com/polex-dev/polex/internal/kyverno/schema"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/expression"
	"github.com/polex-dev/polex/pkg/exception"
)

// Severity tells whether a finding rejects an exception.
type Severity = exception.Severity

// The severities of a finding. The zero value rejects.
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
	Hint     string // one edit or command; may be empty
}

// maxFindings bounds the findings of one document, for each severity and for
// [ReasonReachesGuard]: warnings must not crowd out errors, nor other errors the ways to
// reach the guard.
const maxFindings = 200

// crowd is the name that a finding is counted under.
func (f *Finding) crowd() string {
	if f.Reason == ReasonReachesGuard {
		return f.Reason
	}
	return f.Severity.String()
}

// subject is the document under check, and its findings.
type subject struct {
	*kyverno.Exception
	Doc        *exception.Document
	Stated     *exception.Exception // its statements
	now        time.Time
	config     *Config
	guard      kyverno.Guard
	release    kyverno.Release // 0 is unknown
	found      []Finding
	severities map[string]Severity // by reason
	counts     map[string]int      // by [Finding.crowd]

	language *expression.Language // of match conditions
	compiled []matchCondition     // see conditions

	operations []string // that the conditions require; see neverMatches
}

// find adds a finding with the severity of its reason.
func (s *subject) find(reason string, path exception.Path, message, hint string) {
	if reason == schema.UnknownField || !s.isRejected(path) {
		s.add(Finding{Reason: reason, Severity: s.severities[reason], Path: path, Message: message, Hint: hint})
	}
}

// isRejected reports whether the value at a path, or one above it, is missing or of the wrong type.
// That is always an error, and nothing more can be said about the value.
func (s *subject) isRejected(path exception.Path) bool {
	return slices.ContainsFunc(s.found, func(f Finding) bool {
		return (f.Reason == schema.WrongType || f.Reason == schema.MissingField) &&
			len(f.Path) <= len(path) && f.Path.String() == path[:len(f.Path)].String()
	})
}

// warn adds a finding that is milder than its reason: [Reason.Milder].
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

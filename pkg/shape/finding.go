package shape

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/expression"
	"github.com/polex-dev/polex/internal/kyverno/schema"
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

// maxFindings bounds the findings of one document, for each severity and for [ReasonReachesGuard]: warnings must not
// crowd out errors, nor other errors the ways to reach the guard.
const maxFindings = 200

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
	counts     map[string]int      // of findings by severity, and of [ReasonReachesGuard]

	language *expression.Language // of match conditions
	compiled []matchCondition     // see conditions
}

// find adds a finding with the severity of its reason.
func (s *subject) find(reason string, path exception.Path, hint, format string, args ...any) {
	if reason == schema.UnknownField || !s.isRejected(path) {
		s.add(Finding{Reason: reason, Severity: s.severities[reason], Path: path, Message: fmt.Sprintf(format, args...),
			Hint: hint})
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
func (s *subject) warn(reason string, path exception.Path, hint, format string, args ...any) {
	s.add(Finding{Reason: reason, Severity: Warning, Path: path, Message: fmt.Sprintf(format, args...), Hint: hint})
}

func (s *subject) add(f Finding) {
	isKept := s.config.weigh(&f)
	crowd := f.Severity.String()
	if f.Reason == ReasonReachesGuard {
		crowd = f.Reason
	}
	if !isKept || s.counts[crowd] >= maxFindings {
		return
	}
	s.counts[crowd]++
	if f.Position == (exception.Position{}) {
		f.Position = s.Doc.PositionOf(f.Path)
	}
	s.found = append(s.found, f)
}

func sorted(found []Finding) []Finding {
	slices.SortStableFunc(found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Position.Line, b.Position.Line), cmp.Compare(a.Position.Column, b.Position.Column),
			cmp.Compare(a.Severity, b.Severity), cmp.Compare(a.Reason, b.Reason))
	})
	return found
}

// Level is the level of a finding.
type Level string

// The levels.
const (
	LevelOff     Level = "off"     // not reported
	LevelWarning Level = "warning" // reported, but does not reject
	LevelError   Level = "error"   // rejects the exception
)

// checkLevels rejects unknown checks and levels, and the checks that no setting may change.
func checkLevels(c *Config) error {
	for _, name := range slices.Sorted(maps.Keys(c.Checks)) {
		index := slices.IndexFunc(Reasons(), func(r Reason) bool { return r.Name == name })
		switch level := c.Checks[name]; {
		case index < 0:
			names := make([]string, len(Reasons()))
			for i, r := range Reasons() {
				names[i] = r.Name
			}
			return in(fmt.Errorf("there is no check %q; %s", name, cmp.Or(exception.Nearest(name, names),
				"docs/reference/reasons.md lists them")), "shape", "checks", name)
		case level != LevelOff && level != LevelWarning && level != LevelError:
			return in(fmt.Errorf("check %q: %q is not one of off, warning, error", name, level), "shape", "checks",
				name)
		case Reasons()[index].Fixed && level != LevelError:
			return in(fmt.Errorf("check %q cannot be switched off or made a warning", name), "shape", "checks", name)
		}
	}
	return nil
}

// weigh gives a finding the configured level of its reason, and reports whether the finding is reported at all.
func (c *Config) weigh(f *Finding) bool {
	switch c.Checks[f.Reason] {
	case LevelOff:
		return false
	case LevelWarning:
		f.Severity = Warning
	case LevelError:
		f.Severity = Error
	}
	return true
}

// Weigh gives the findings of a [Set] the configured levels.
func (c *Checker) Weigh(found []Finding) []Finding {
	var counting []Finding
	for _, f := range found {
		if c.config.weigh(&f) {
			counting = append(counting, f)
		}
	}
	return counting
}

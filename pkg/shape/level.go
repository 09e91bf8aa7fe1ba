package shape

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/polex-dev/polex/pkg/exception"
)

// Level is the level of a finding.
type Level string

// The levels.
const (
	LevelOff     Level = "off"     // not reported
	LevelWarning Level = "warning" // reported, but does not reject
	LevelError   Level = "error"   // rejects the exception
)

// checkLevels rejects unknown checks and levels, and the checks that no setting may
// change.
func checkLevels(c *Config) error {
	for _, name := range slices.Sorted(maps.Keys(c.Checks)) {
		index := slices.IndexFunc(Reasons(), func(r Reason) bool { return r.Name == name })
		switch level := c.Checks[name]; {
		case index < 0:
			names := make([]string, len(Reasons()))
			for i, r := range Reasons() {
				names[i] = r.Name
			}
			return in(fmt.Errorf("there is no check %q; %s", name,
				cmp.Or(exception.Nearest(name, names), "docs/reference/reasons.md lists them")), "shape", "checks",
				name)
		case level != LevelOff && level != LevelWarning && level != LevelError:
			return in(fmt.Errorf("check %q: %q is not one of off, warning, error", name, level), "shape", "checks",
				name)
		case Reasons()[index].Fixed && level != LevelError:
			return in(fmt.Errorf("check %q cannot be switched off or made a warning", name), "shape", "checks", name)
		}
	}
	return nil
}

// weigh gives a finding the configured level of its reason, and reports whether the
// finding is reported at all.
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

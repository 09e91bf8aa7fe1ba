package shape_test

import (
	"strings"
	"testing"

	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/pkg/trust/policyfile"
)

func TestLevels(t *testing.T) {
	wild := change{of: legacy, old: "[check, autogen-check]", new: "['*', 'autogen-*']"}
	for _, tc := range []struct {
		level  shape.Level
		errors int
		warned int
	}{
		{"", 1, 1}, {shape.LevelError, 2, 0}, {shape.LevelWarning, 0, 2}, {shape.LevelOff, 0, 0},
	} {
		if tc.level != "" {
			wild.config.Checks = map[string]shape.Level{shape.ReasonWildcardRule: tc.level}
		}
		errors, warned := 0, 0
		for _, f := range wild.findings(t) {
			if f.Severity == shape.Error {
				errors++
			} else {
				warned++
			}
		}
		if errors != tc.errors || warned != tc.warned {
			t.Errorf("%q: %d errors and %d warnings, want %d and %d", tc.level, errors, warned, tc.errors, tc.warned)
		}
	}
}

// TestFixedReasons: checks that the signature or the guard depends on cannot be disabled.
func TestFixedReasons(t *testing.T) {
	for _, r := range shape.Reasons() {
		for _, level := range []shape.Level{shape.LevelOff, shape.LevelWarning} {
			if _, err := shape.New(shape.Config{Checks: map[string]shape.Level{r.Name: level}}); (err != nil) != r.Fixed {
				t.Errorf("%s %s: %v", r.Name, level, err)
			}
		}
	}
}

// TestWarningsDoNotCrowdOutErrors: a document with more warnings than the limit is still rejected,
// also if the warnings are disabled.
func TestWarningsDoNotCrowdOutErrors(t *testing.T) {
	many := change{of: legacy, old: "[check, autogen-check]", new: "[" + strings.Repeat("'autogen-*',", 5000) + "'*']"}
	for name, level := range map[string]shape.Level{"as it is": "", "switched off": shape.LevelOff} {
		many.config = rules(policyfile.Rules{Longest: day})
		if level != "" {
			many.config.Checks = map[string]shape.Level{shape.ReasonWildcardRule: level}
		}
		refused := false
		for _, f := range many.findings(t) {
			refused = refused || f.Reason == "lifetime-too-long" && f.Severity == shape.Error
		}
		if !refused {
			t.Errorf("%s: the lifetime is not refused", name)
		}
	}
}

func TestPresets(t *testing.T) {
	for name, want := range map[string]bool{"baseline": true, "strict": true, "": true, "Strict": false} {
		if _, err := shape.New(shape.Config{Preset: name}); (err == nil) != want {
			t.Errorf("%q: %v", name, err)
		}
	}
	if found := (change{of: legacy, config: shape.Config{Preset: "strict"}}).findings(t); len(found) != 2 {
		t.Errorf("strict wants a ticket and an owner: %v", found)
	}
}

// TestSeverities: a finding has the severity of its reason. It can be a warning too only if the
// reason permits that.
func TestSeverities(t *testing.T) {
	reasons, met := map[string]shape.Reason{}, map[string]map[shape.Severity]bool{}
	for _, r := range shape.Reasons() {
		reasons[r.Name], met[r.Name] = r, map[shape.Severity]bool{}
	}
	for file, changes := range cases() {
		for _, c := range changes {
			if c.config.Checks != nil || c.config.Preset != "" {
				continue
			}
			for _, f := range c.findings(t) {
				met[f.Reason][f.Severity] = true
				if r := reasons[f.Reason]; f.Severity != r.Severity && (!r.Milder || f.Severity != shape.Warning) {
					t.Errorf("%s, %s: %s is a %s", file, c.name, f.Reason, f.Severity)
				}
			}
		}
	}
	for name, r := range reasons {
		if r.Milder && len(met[name]) != 2 || r.Fixed && (r.Milder || r.Severity != shape.Error) {
			t.Errorf("%s: %v is found", name, met[name])
		}
	}
}

package shape_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/pkg/trust/policyfile"
	"github.com/polex-dev/polex/test/expect"
)

func TestLevels(t *testing.T) {
	wild := change{of: legacy, old: "[check, autogen-check]", new: "['*', 'autogen-*']"}
	for _, tc := range []struct {
		level          shape.Level
		errors, warned int
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
		expect.Is(t, string(tc.level)+": errors", tc.errors, errors)
		expect.Is(t, string(tc.level)+": warnings", tc.warned, warned)
	}
}

// TestFixedReasons: checks that the signature or the guard depends on cannot be disabled.
func TestFixedReasons(t *testing.T) {
	for _, r := range shape.Reasons() {
		for _, level := range []shape.Level{shape.LevelOff, shape.LevelWarning} {
			_, err := shape.New(shape.Config{Checks: map[string]shape.Level{r.Name: level}})
			expect.Is(t, fmt.Sprint(r.Name, " ", level), r.Fixed, err != nil)
		}
	}
}

func TestPresets(t *testing.T) {
	for name, want := range map[string]bool{"baseline": true, "strict": true, "": true, "Strict": false} {
		_, err := shape.New(shape.Config{Preset: name})
		expect.Is(t, name, want, err == nil)
	}
	// Strict wants a ticket and an owner.
	expect.Is(t, "findings", 2, len(change{of: legacy, config: shape.Config{Preset: "strict"}}.findings(t)))
}

func TestNewRefuses(t *testing.T) {
	for name, config := range map[string]shape.Config{
		"unknown requirement":     {Require: []string{"reason", "colour"}},
		"negative lifetime":       {Rules: policyfile.Rules{Longest: -1}},
		"negative renewals":       {Rules: policyfile.Rules{Renewals: policyfile.Renewals{Max: -1}}},
		"a renewal's requirement": {Rules: policyfile.Rules{Renewals: policyfile.Renewals{Require: []string{"colour"}}}},
		"guarding every policy":   {GuardPolicies: []string{"*"}},
		"guarding nothing":        {GuardNamespaces: []string{""}},
		"fewer than no policy":    {MaxPolicies: new(-1)},
		"an empty namespace":      {Namespaces: []string{""}},
		"a range of characters":   {Namespaces: []string{"team-[ab]"}},
		"a namespace in capitals": {Namespaces: []string{"Team-a"}},
		"no such check":           {Checks: map[string]shape.Level{"wildcards": shape.LevelOff}},
		"no such level":           {Checks: map[string]shape.Level{shape.ReasonWildcardRule: "info"}},
		"the guard as warning":    {Checks: map[string]shape.Level{shape.ReasonReachesGuard: shape.LevelWarning}},
		"unreadable Kyverno":      {KyvernoVersion: "latest"},
		"half a Kyverno":          {KyvernoVersion: "1"},
		"another Kyverno":         {KyvernoVersion: "2.0"},
		"ancient Kyverno":         {KyvernoVersion: "1.10.7"},
		"Kyverno and more":        {KyvernoVersion: "1.19 "},
	} {
		t.Run(name, func(t *testing.T) { expect.Failure(shape.New(config))(t) })
	}
}

// quote writes YAML text on one line.
func quote(s string) string { return strconv.QuoteToASCII(s) }

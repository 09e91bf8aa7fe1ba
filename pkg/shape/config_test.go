package shape_test

import (
	"strconv"
	"testing"

	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/pkg/trust/policyfile"
	"github.com/polex-dev/polex/test/expect"
)

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

package shape_test

import (
	"strconv"
	"testing"

	"github.com/polex-dev/polex/pkg/shape"
)

func TestNewRefuses(t *testing.T) {
	for name, config := range map[string]shape.Config{
		"negative lifetime":     {MaxLifetime: -1},
		"unknown requirement":   {Require: []string{"reason", "colour"}},
		"guarding every policy": {GuardPolicies: []string{"*"}},
		"guarding nothing":      {GuardNamespaces: []string{""}},
		"unreadable Kyverno":    {KyvernoVersion: "latest"},
		"half a Kyverno":        {KyvernoVersion: "1"},
		"another Kyverno":       {KyvernoVersion: "2.0"},
		"ancient Kyverno":       {KyvernoVersion: "1.10.7"},
		"Kyverno and more":      {KyvernoVersion: "1.19 "},
	} {
		if _, err := shape.New(config); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// quote writes YAML text on one line.
func quote(s string) string { return strconv.QuoteToASCII(s) }

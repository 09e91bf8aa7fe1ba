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
	} {
		if _, err := shape.New(config); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// quote writes YAML text on one line.
func quote(s string) string { return strconv.QuoteToASCII(s) }

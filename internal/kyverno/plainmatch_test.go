package kyverno_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/kyverno"
)

// TestPlainMatchIsBounded: 64 filters are the most that match conditions become.
func TestPlainMatchIsBounded(t *testing.T) {
	anyOf := func(field string, n int) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = fmt.Sprintf("object.%s == 'a%d'", field, i)
		}
		return "(" + strings.Join(parts, " || ") + ")"
	}
	for _, tc := range []struct {
		conditions []string
		want       int
	}{
		{[]string{anyOf("metadata.name", 64)}, 64},
		{[]string{anyOf("metadata.name", 65)}, 0},
		{[]string{anyOf("metadata.name", 8), anyOf("metadata.namespace", 8)}, 64},
		{[]string{anyOf("metadata.name", 13), anyOf("metadata.namespace", 5)}, 0},
		{[]string{anyOf("metadata.name", 8) + " && " + anyOf("metadata.namespace", 8)}, 64},
		{[]string{anyOf("metadata.name", 13) + " && " + anyOf("metadata.namespace", 5)}, 0},
		{[]string{anyOf("metadata.name", 5), anyOf("metadata.namespace", 13)}, 0},
	} {
		if got := len(kyverno.PlainMatch(tc.conditions).Any); got != tc.want {
			t.Errorf("%.80s…: %d filters, want %d", tc.conditions, got, tc.want)
		}
	}
}

package kyverno_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/test/expect"
)

// TestPlainMatch: match conditions become as many filters as they have alternatives, at most 64, and none
// where a filter would select other resources.
func TestPlainMatch(t *testing.T) {
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
		{nil, 1},
		{[]string{"object.metadata.name == 'a'", "object.metadata.namespace == 'b'"}, 1},
		{[]string{"object.metadata.name == 'a'", "object.metadata.name == 'b'"}, 0},
		{[]string{"object.metadata.namespace == 'a'", "object.kind == 'Pod' && object.metadata.namespace == 'b'"}, 0},
		{[]string{"object.metadata.labels.app == 'a'", "object.metadata.labels.tier == 'b'"}, 1},
		{[]string{"object.metadata.labels.app == 'a'", "object.metadata.labels['app'] == 'b'"}, 0},
		{[]string{"object.metadata.name == 'a' || object.spec.x"}, 0},
		{[]string{"object.spec.x || object.metadata.name == 'a'"}, 0},
		{[]string{"object.metadata.name == 'a*'"}, 0}, // no pattern in a condition
		{[]string{"object.metadata.name in ['a', 'b?']"}, 0},
		{[]string{"object.metadata.namespace == ''"}, 0},
		{[]string{"object.metadata.labels.app == '*'"}, 0},
		{[]string{"object.apiVersion == 'apps/v1'", "object.kind == 'Deployment'"}, 1},
		{[]string{"object.apiVersion in ['apps/v1', 'batch/v1']", "object.kind == 'Deployment'"}, 0},
		{[]string{"request.kind.group in ['apps', 'kyverno.io']", "object.kind in ['Deployment', 'PolicyException']"}, 0},
		{[]string{"request.kind.version == 'v1'", "object.kind == 'Pod'"}, 0},
		{[]string{"request.resource.resource == 'pods'", "object.kind == 'Pod'"}, 0},
		{[]string{"request.kind.group == 'apps'", "object.apiVersion == 'apps/v1'"}, 0},
		{[]string{"object.metadata.name.matches('^a.*$')"}, 1},
		{[]string{anyOf("metadata.name", 64)}, 64},
		{[]string{anyOf("metadata.name", 65)}, 0},
		{[]string{anyOf("metadata.name", 8), anyOf("metadata.namespace", 8)}, 64},
		{[]string{anyOf("metadata.name", 13), anyOf("metadata.namespace", 5)}, 0},
		{[]string{anyOf("metadata.name", 8) + " && " + anyOf("metadata.namespace", 8)}, 64},
		{[]string{anyOf("metadata.name", 13) + " && " + anyOf("metadata.namespace", 5)}, 0},
		{[]string{anyOf("metadata.name", 5), anyOf("metadata.namespace", 13)}, 0},
	} {
		expect.Is(t, fmt.Sprintf("%.80s…", tc.conditions), tc.want, len(kyverno.PlainMatch(tc.conditions).Any))
	}
}

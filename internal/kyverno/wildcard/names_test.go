package wildcard_test

import (
	"testing"

	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/test/expect"
)

func TestNames(t *testing.T) {
	for _, tc := range []struct {
		pattern, name string
		want          bool
	}{
		{"team-a", "team-a", true}, {"team-a", "team-b", false}, {"Team-a", "team-a", false},
		{"team-*", "team-", true}, {"team-*", "team-a-b", true}, {"*-prod-*", "a-prod-b", true}, {"*-prod-*", "prod", false},
		{"team-?", "team-a", true}, {"team-?", "team-", false}, {"team-?", "team-ab", false}, {"t?am*a", "team-a", true},
		{"*", "a/b", true}, {"*/*", "a/b", true}, {"a/*", "a/b", true}, {"a*", "a/b", false}, {"?/b", "a/b", true}, {"a?b", "a/b", false},
		// Only "*" includes another pattern.
		{"team-*", "team-*", false}, {"team-?", "team-?", false}, {"*", "team-*", true}, {"?*", "team-*", false},
		{"team-[ab]", "team-a", false}, {`team\-a`, "team-a", false},
	} {
		expect.Is(t, tc.pattern+" includes "+tc.name, tc.want, wildcard.Names{tc.pattern}.Include(tc.name))
	}
}

func TestNamespaceForm(t *testing.T) {
	for text, ok := range map[string]bool{
		"team-a": true, "*": true, "team-?": true, "*-prod": true,
		"": false, "Team": false, "team-[ab]": false, `team\a`: false, "a/b": false, "team a": false, "-a": false,
	} {
		expect.Is(t, text, ok, wildcard.Names{text}.Check(wildcard.NamespaceForm) == nil)
	}
}

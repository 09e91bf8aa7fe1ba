package review_test

import (
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/review"
)

// The rules of GitHub's documentation on patterns, with our own cases.
func TestCodeOwnersPatterns(t *testing.T) {
	for _, tc := range []struct {
		pattern, path string
		want          bool
	}{
		{"*", "unsigned/mongo.yaml", true},
		{"*", ".github/CODEOWNERS", true},
		{"*.yaml", "unsigned/mongo.yaml", true},
		{"*.yaml", "mongo.yml", false},
		{"/*.yaml", "unsigned/mongo.yaml", false},
		{"/unsigned/", "unsigned/team/mongo.yaml", true},
		{"/unsigned/", "other/unsigned/mongo.yaml", false},
		{"/unsigned", "unsigned/mongo.yaml", true},
		{"/unsigned", "unsigned.yaml", false},
		{"unsigned/", "teams/a/unsigned/mongo.yaml", true},
		{"unsigned/*", "unsigned/mongo.yaml", true},
		{"unsigned/*", "unsigned/team/mongo.yaml", false},
		{"unsigned/*", "teams/unsigned/mongo.yaml", false},
		{"unsigned/team", "teams/unsigned/team/mongo.yaml", false},
		{"**/prod", "unsigned/prod/mongo.yaml", true},
		{"**/prod", "unsigned/a/prod/b/mongo.yaml", true},
		{"/unsigned/**", "unsigned/a/b/mongo.yaml", true},
		{"/unsigned/**/prod.yaml", "unsigned/prod.yaml", true},
		{"/unsigned/**/prod.yaml", "unsigned/a/b/prod.yaml", true},
		{"/unsigned/mongo.yaml", "unsigned/mongo.yaml", true},
		{"/unsigned/mongo.yaml", "unsigned/mongo_yaml", false},
		{"/unsigned/Mongo.yaml", "unsigned/mongo.yaml", false},
		{"/unsigned/mong?.yaml", "unsigned/mongo.yaml", true},
		{"/unsigned/mong?.yaml", "unsigned/mong/.yaml", false},
		{`/unsigned/a\ b.yaml`, "unsigned/a b.yaml", true},
		{"/unsigned/(a)/", "unsigned/(a)/mongo.yaml", true},
	} {
		c, err := review.ParseCodeOwners([]byte(tc.pattern + " @bob\n"))
		if err != nil {
			t.Errorf("%s: %v", tc.pattern, err)
			continue
		}
		owners, err := c.Owners(tc.path)
		if err != nil || (len(owners) == 1) != tc.want {
			t.Errorf("%s owns %s: %v %v, want %v", tc.pattern, tc.path, owners, err, tc.want)
		}
	}
}

// Lines that GitHub ignores are errors, and so are lines at which the parser would silently stop.
func TestCodeOwnersRefused(t *testing.T) {
	for name, text := range map[string]string{
		"a negation":         "* @bob\n!*.md @bob",
		"a range":            "[ab].yaml @bob",
		"three stars":        "/unsigned/*** @bob",
		"the root":           "* @bob\n/ @carol",
		"the root, alone":    "/",
		"the root, and why":  " /# @carol",
		"no owner's name":    "* bob",
		"a team without one": "* @acme/",
		"a long line":        "* @bob\n# " + strings.Repeat("x", 64<<10) + "\n/unsigned/ @carol",
		"many lines":         strings.Repeat("* @bob\n", 10_001),
		"a long text":        strings.Repeat(strings.Repeat("#", 1<<10)+"\n", 3<<10),
	} {
		if _, err := review.ParseCodeOwners([]byte(text)); err == nil {
			t.Errorf("%s is read", name)
		}
	}
}

func TestCodeOwnersComments(t *testing.T) {
	c, err := review.ParseCodeOwners([]byte("# who owns what\n\n  * @bob @acme/security carol@example.com # everything\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	owners, err := c.Owners("unsigned/mongo.yaml")
	if got := strings.Join(owners, " "); err != nil || got != "@bob @acme/security carol@example.com" {
		t.Errorf("%q %v", got, err)
	}
}

// No file and no path crash the parser, and a last rule for everything always wins.
func FuzzCodeOwners(f *testing.F) {
	f.Add("* @bob\n/unsigned/** @acme/security", "unsigned/mongo.yaml")
	f.Add(`a\ b/(c)/**/d?.* x@example.com # y`, "a b/(c)/d1.x")
	f.Fuzz(func(t *testing.T, text, path string) {
		c, err := review.ParseCodeOwners([]byte(text))
		if err != nil {
			return
		}
		if _, err := c.Owners(path); err != nil {
			t.Fatal(err)
		}
		c, err = review.ParseCodeOwners([]byte(text + "\n* @last"))
		if err != nil {
			return // one line too many
		}
		owners, err := c.Owners("unsigned/mongo.yaml")
		if err != nil || len(owners) != 1 || owners[0] != "@last" {
			t.Errorf("%q: %q %v", text, owners, err)
		}
	})
}

package git_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/test/expect"
)

// TestAllocLimit: every run of Git in a repository of others has a limit for its memory, and none in the caller's own.
func TestAllocLimit(t *testing.T) {
	for own, want := range map[bool]bool{true: false, false: true} {
		command := git.Git{Dir: t.TempDir(), Own: own}.Command(t.Context(), git.Call{}, "for-each-ref")
		limited := slices.ContainsFunc(command.Env, func(v string) bool { return strings.HasPrefix(v, "GIT_ALLOC_LIMIT=") })
		expect.Is(t, fmt.Sprintf("own %t: limited", own), want, limited)
	}
}

package git_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// branched returns a repository with two commits and names for them.
func branched(t *testing.T) (r *repository, first, second string) {
	r = newRepository(t, map[string]string{"a.yaml": "a: 1\n"})
	first = r.Line("rev-parse", "HEAD")
	r.Line("tag", "light")
	r.Line("tag", "--annotate", "--message=x", "heavy")
	r.Line("tag", "--annotate", "--message=x", "heavier", "heavy")
	r.Line("update-ref", "refs/remotes/origin/main", first)
	r.Line("update-ref", "refs/pull/7/merge", first)
	r.Line("branch", "same")
	r.Line("tag", "same")
	r.Write("b.yaml", "b: 1\n")
	second = r.commit("Go on")
	r.Line("branch", "both")
	r.Line("tag", "both", first)
	r.Line("branch", "feature/x")
	r.Line("branch", strings.Repeat("a", 40), second)
	return r, first, second
}

func resolve(dir, revision string) (string, error) {
	r, err := git.Open(context.Background(), dir)
	if err != nil {
		return "", err
	}
	defer r.Close()
	hash, err := r.Resolve(revision)
	if err != nil {
		return "", err
	}
	return hash.String(), nil
}

func TestResolve(t *testing.T) {
	for _, packed := range []bool{false, true} {
		r, first, second := branched(t)
		if packed {
			r.Line("gc", "--quiet")
		}
		for revision, want := range map[string]string{
			"HEAD": second, "main": second, "refs/heads/main": second, "feature/x": second, second: second, strings.ToUpper(second): second,
			"light": first, "heavy": first, "heavier": first, "refs/tags/heavy": first, r.Line("rev-parse", "heavy"): first,
			"origin/main": first, "refs/remotes/origin/main": first, "refs/pull/7/merge": first, "same": first,
			"refs/heads/both": second, "refs/tags/both": first,
		} {
			got := must.Get(resolve(r.Dir, revision))(t)
			expect.Is(t, fmt.Sprintf("packed %v: %s", packed, revision), want, got)
		}
		// A loose reference has precedence over a packed one.
		r.Line("update-ref", "refs/heads/main", first)
		expect.Is(t, "moved", first, must.Get(resolve(r.Dir, "main"))(t))
	}
}

func TestRevisionErrors(t *testing.T) {
	r, first, _ := branched(t)
	for revision, tc := range map[string]struct{ want, hint string }{
		"missing":                 {"does not have it", "git fetch"},
		first[:10]:                {"does not have it", "write the whole hash"},
		"refs/heads/missing":      {"does not have it", "git fetch"},
		"FETCH_HEAD":              {"does not have it", "git fetch"},
		"config":                  {"does not have it", "git fetch"},
		"refs":                    {"does not have it", "git fetch"},
		"heads":                   {"does not have it", "git fetch"},
		"both":                    {"refs/tags/both and refs/heads/both are different commits", "full name"},
		"refs/heads/a..b":         {"not the name of a commit", "git rev-parse"},
		"":                        {"not the name of a commit", "git rev-parse"},
		"@":                       {"not the name of a commit", "git rev-parse"},
		"main~1":                  {"not the name of a commit", "git rev-parse"},
		"main^":                   {"not the name of a commit", "git rev-parse"},
		"main@{1}":                {"not the name of a commit", "git rev-parse"},
		"main:a.yaml":             {"not the name of a commit", "git rev-parse"},
		"../../secret":            {"not the name of a commit", "git rev-parse"},
		"/etc/passwd":             {"not the name of a commit", "git rev-parse"},
		"refs/heads/../../config": {"not the name of a commit", "git rev-parse"},
		"a b":                     {"not the name of a commit", "git rev-parse"},
		"a\nb":                    {"not the name of a commit", "git rev-parse"},
		"a\x00b":                  {"not the name of a commit", "git rev-parse"},
		`a\b`:                     {"not the name of a commit", "git rev-parse"},
		"main.lock":               {"not the name of a commit", "git rev-parse"},
		".hidden":                 {"not the name of a commit", "git rev-parse"},
		"main/":                   {"not the name of a commit", "git rev-parse"},
		strings.Repeat("x", 2000): {"not the name of a commit", "git rev-parse"},
	} {
		_, err := resolve(r.Dir, revision)
		var bad *git.RevisionError
		switch {
		case !errors.As(err, &bad):
			t.Errorf("%q: %v, want a RevisionError", revision, err)
		case !strings.Contains(bad.Error(), tc.want) || !strings.Contains(bad.Hint(), tc.hint):
			t.Errorf("%q: %v (%s), want %q and %q", revision, bad, bad.Hint(), tc.want, tc.hint)
		case bad.Malformed != (tc.want == "not the name of a commit") || (git.CheckRevision(revision) != nil) != bad.Malformed:
			t.Errorf("%q: malformed %v", revision, bad.Malformed)
		}
	}
}

// TestBranch: HEAD is a branch, a branch without a commit, a commit, or invalid.
func TestBranch(t *testing.T) {
	r, first, _ := branched(t)
	for head, want := range map[string]string{
		"ref: refs/heads/main": "refs/heads/main", "ref: refs/heads/none": "refs/heads/none", first: "",
	} {
		r.Write(".git/HEAD", head+"\n")
		repository, _ := opened(t, r.Dir)
		expect.Is(t, head, want, must.Get(repository.Branch())(t))
	}
}

// TestReferencesThatLie: references of a hostile repository.
func TestReferencesThatLie(t *testing.T) {
	packed := func(content string) func(*repository) {
		return func(r *repository) { r.Line("pack-refs", "--all"); r.Write(".git/packed-refs", content) }
	}
	for name, tc := range map[string]struct {
		prepare func(*repository)
		want    string
	}{
		"HEAD leads out":          {func(r *repository) { r.Write(".git/HEAD", "ref: ../../secret\n") }, "not a git repository"},
		"HEAD leads out deeper":   {func(r *repository) { r.Write(".git/HEAD", "ref: refs/../../secret\n") }, "read the branch of HEAD"},
		"HEAD leads to config":    {func(r *repository) { r.Write(".git/HEAD", "ref: config\n") }, "not a git repository"},
		"no branch yet":           {func(r *repository) { r.Write(".git/HEAD", "ref: refs/heads/none\n") }, "no commits yet"},
		"a circle":                {func(r *repository) { r.Write(".git/refs/heads/main", "ref: refs/heads/main\n") }, "read the branch of HEAD"},
		"no hash":                 {func(r *repository) { r.Write(".git/refs/heads/main", "zzz\n") }, "read the branch of HEAD"},
		"SHA-256":                 {func(r *repository) { r.Write(".git/refs/heads/main", strings.Repeat("a", 64)) }, "read the branch of HEAD"},
		"a whole book":            {func(r *repository) { r.Write(".git/refs/heads/main", strings.Repeat("a", 5000)) }, "read the branch of HEAD"},
		"a file":                  {func(r *repository) { r.Write(".git/refs/heads/main", r.Line("rev-parse", "HEAD:a.yaml")) }, "a blob, not a commit"},
		"a tree":                  {func(r *repository) { r.Write(".git/refs/heads/main", r.Line("rev-parse", "HEAD^{tree}")) }, "a tree, not a commit"},
		"nothing there":           {func(r *repository) { r.Write(".git/refs/heads/main", strings.Repeat("a", 40)) }, "does not have it"},
		"packed-refs of garbage":  {packed("\xff refs/heads/main\n"), "unexpected line in"},
		"packed-refs of one line": {packed(strings.Repeat("x", 1<<20)), "packed-refs"},
		"a link": {func(r *repository) {
			secret := filepath.Join(r.TB.TempDir(), "secret")
			must.Do(r.TB, os.WriteFile(secret, []byte("secret"), 0o600))
			path := filepath.Join(r.Dir, ".git", "refs", "heads", "main")
			must.Do(r.TB, os.Remove(path))
			must.Do(r.TB, os.Symlink(secret, path))
		}, "read the branch of HEAD"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t, map[string]string{"a.yaml": "a: 1\n"})
			tc.prepare(r)
			expect.Failure(resolve(r.Dir, "HEAD"))(t, tc.want)
		})
	}
}

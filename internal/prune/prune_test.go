package prune_test

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/prune"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

var now = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// tree commits files and returns the tree of the commit.
func tree(t *testing.T, files map[string]string) *git.Tree {
	t.Helper()
	dir := t.TempDir()
	run := func(args ...string) string {
		c := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		c.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "HOME="+dir)
		out, err := c.CombinedOutput()
		must.That(t, err == nil, "git %v: %v\n%s", args, err, out)
		return strings.TrimSpace(string(out))
	}
	run("init", "--quiet")
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o700))
		if target, isLink := strings.CutPrefix(text, "-> "); isLink {
			must.Do(t, os.Symlink(target, path))
			continue
		}
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	}
	run("add", "--all")
	run("commit", "--quiet", "--allow-empty", "--message", "a commit")
	repository := must.Get(git.Open(context.Background(), dir))(t)
	t.Cleanup(func() { _ = repository.Close() })
	commit := must.Get(repository.Resolve("HEAD"))(t)
	return must.Get(repository.Tree(commit))(t)
}

// until is an exception with an expiry.
func until(name string, at time.Time) string {
	return "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: " + name +
		", namespace: platform, annotations: {polex.dev/expires-at: \"" + at.Format(time.RFC3339) + "\"}}\n"
}

const forever = "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: forever, namespace: platform}\n"

func TestLook(t *testing.T) {
	past, next, soon, later := now.Add(-time.Hour), now.Add(time.Second), now.Add(time.Hour), now.Add(48*time.Hour)
	for _, tt := range []struct {
		name       string
		files      map[string]string
		remove     []string
		write      map[string]string
		soon       []string
		unreadable int
	}{
		{name: "no folder", files: map[string]string{"unsigned/a.yaml": until("a", past)}},
		{name: "ended", files: map[string]string{"signed/a.yaml": until("a", past), "signed/team/b.yml": until("b", past), "unsigned/c.yaml": until("c", past)},
			remove: []string{"signed/a.yaml", "signed/team/b.yml"}},
		{name: "at its very end", files: map[string]string{"signed/a.yaml": until("a", now)}, remove: []string{"signed/a.yaml"}},
		{name: "a second before its end", files: map[string]string{"signed/a.yaml": until("a", next)}, soon: []string{"a"}},
		{name: "soon and later", files: map[string]string{"signed/a.yaml": until("a", soon), "signed/b.yaml": until("b", later)}, soon: []string{"a"}},
		{name: "no end", files: map[string]string{"signed/a.yaml": forever}},
		{name: "one of three", files: map[string]string{"signed/a.yaml": "# why\n" + forever + "---\n# gone\n" + until("a", past) + "---\n" + until("b", later)},
			write: map[string]string{"signed/a.yaml": "# why\n" + forever + "---\n" + until("b", later)}},
		{name: "half of it unreadable", files: map[string]string{"signed/a.yaml": until("a", past) + "---\nkind: [\n", "signed/b.yaml": until("b", past)},
			remove: []string{"signed/b.yaml"}, unreadable: 1},
		{name: "a time that is none", files: map[string]string{"signed/a.yaml": strings.Replace(until("a", past), "2026", "26", 1)}, unreadable: 1},
		{name: "two ends that disagree", files: map[string]string{"signed/a.yaml": "apiVersion: policies.kyverno.io/v1\nkind: PolicyException\n" +
			"metadata: {name: a, namespace: platform, annotations: {polex.dev/expires-at: \"2020-01-01T00:00:00Z\"}}\nspec: {expiresAt: \"2020-01-02T00:00:00Z\"}\n"}, unreadable: 1},
		{name: "paths that nothing can change", files: map[string]string{"signed/caf\xe9.yaml": until("a", past), "signed/" + strings.Repeat(strings.Repeat("x", 200)+"/", 6) + "a.yaml": until("b", past), "signed/c.yaml": until("c", past)},
			remove: []string{"signed/c.yaml"}, unreadable: 2},
		{name: "not an exception's file", files: map[string]string{"signed/README.md": until("a", past), "signed/link.yaml": "-> ../old.yaml", "old.yaml": until("a", past)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			found := must.Get(prune.Look(tree(t, tt.files), prune.Options{Now: now, Soon: 24 * time.Hour}))(t)
			change := found.Change("a <a@example.com>")
			slices.Sort(change.Remove)
			expect.That(t, slices.Equal(change.Remove, tt.remove), "removes %q, want %q", change.Remove, tt.remove)
			written := map[string]string{}
			for name, text := range change.Write {
				written[name] = string(text)
			}
			expect.That(t, maps.Equal(written, tt.write), "writes %q, want %q", written, tt.write)
			var ends []string
			for _, e := range found.Soon {
				ends = append(ends, e.Identity.Name)
			}
			expect.That(t, slices.Equal(ends, tt.soon), "ending soon: %q, want %q", ends, tt.soon)
			expect.Is(t, "unreadable", tt.unreadable, len(found.Unreadable))
			expect.That(t, (len(tt.remove)+len(tt.write) > 0) == (change.Message != ""),
				"the message is %q", change.Message)
		})
	}
}

func TestOutside(t *testing.T) {
	for _, folder := range []string{"..", "../signed", "/signed", ".", "signed/../.."} {
		_, err := prune.Look(tree(t, nil), prune.Options{Signed: folder, Now: now})
		expect.That(t, err != nil, "%q is looked at", folder)
	}
	_, err := prune.Look(tree(t, map[string]string{"signed": "a file"}), prune.Options{Now: now})
	expect.That(t, err != nil, "a file is taken for the folder")
}

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
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	run("init", "--quiet")
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if target, isLink := strings.CutPrefix(text, "-> "); isLink {
			if err := os.Symlink(target, path); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run("add", "--all")
	run("commit", "--quiet", "--allow-empty", "--message", "a commit")
	repository, err := git.Open(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = repository.Close() })
	commit, err := repository.Resolve("HEAD")
	if err != nil {
		t.Fatal(err)
	}
	found, err := repository.Tree(commit)
	if err != nil {
		t.Fatal(err)
	}
	return found
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
			found, err := prune.Look(tree(t, tt.files), prune.Options{Now: now, Soon: 24 * time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			change := found.Change("a <a@example.com>")
			slices.Sort(change.Remove)
			if !slices.Equal(change.Remove, tt.remove) {
				t.Errorf("removes %q, want %q", change.Remove, tt.remove)
			}
			written := map[string]string{}
			for name, text := range change.Write {
				written[name] = string(text)
			}
			if !maps.Equal(written, tt.write) {
				t.Errorf("writes %q, want %q", written, tt.write)
			}
			var ends []string
			for _, e := range found.Soon {
				ends = append(ends, e.Identity.Name)
			}
			if !slices.Equal(ends, tt.soon) {
				t.Errorf("ending soon: %q, want %q", ends, tt.soon)
			}
			if len(found.Unreadable) != tt.unreadable {
				t.Errorf("unreadable: %v, want %d", found.Unreadable, tt.unreadable)
			}
			if said := len(tt.remove)+len(tt.write) > 0; said != (change.Message != "") {
				t.Errorf("the message is %q", change.Message)
			}
		})
	}
}

func TestOutside(t *testing.T) {
	for _, folder := range []string{"..", "../signed", "/signed", ".", "signed/../.."} {
		if _, err := prune.Look(tree(t, nil), prune.Options{Signed: folder, Now: now}); err == nil {
			t.Errorf("%q is looked at", folder)
		}
	}
	if _, err := prune.Look(tree(t, map[string]string{"signed": "a file"}), prune.Options{Now: now}); err == nil {
		t.Error("a file is taken for the folder")
	}
}

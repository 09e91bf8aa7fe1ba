//go:build e2e

package guard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/polex-dev/polex/test/e2e/cluster"
)

// clone is a repository on disk in git-sync's form: fetched from a remote, one commit deep, without
// checked-out files.
type clone struct {
	t           *testing.T
	origin, dir string
}

func newClone(t *testing.T) *clone {
	t.Helper()
	c := &clone{t: t, origin: t.TempDir(), dir: t.TempDir()}
	c.git(c.origin, "init", "--quiet", "--initial-branch=main")
	c.git(c.dir, "init", "--quiet", "--initial-branch=git-sync")
	return c
}

func (c *clone) git(dir string, args ...string) {
	c.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+c.origin, "XDG_CONFIG_HOME="+c.origin, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.com")
	if out, err := cmd.CombinedOutput(); err != nil {
		c.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// holds commits these files as the whole content of signed/, and fetches the commit.
func (c *clone) holds(files map[string]string) {
	c.t.Helper()
	signed := filepath.Join(c.origin, "signed")
	if err := errors.Join(os.RemoveAll(signed), os.Mkdir(signed, 0o700)); err != nil {
		c.t.Fatal(err)
	}
	files[".gitkeep"] = ""
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(signed, name), []byte(content), 0o600); err != nil {
			c.t.Fatal(err)
		}
	}
	c.git(c.origin, "add", "--all")
	c.git(c.origin, "commit", "--quiet", "--message=Change")
	c.git(c.dir, "fetch", "--quiet", "--depth=1", "file://"+c.origin, "main")
	c.git(c.dir, "reset", "--quiet", "--soft", "FETCH_HEAD")
}

// damaged hides the objects, or restores them.
func (c *clone) damaged(yes bool) {
	c.t.Helper()
	from, to := filepath.Join(c.dir, ".git", "objects"), filepath.Join(c.dir, "objects")
	if !yes {
		from, to = to, from
	}
	if err := os.Rename(from, to); err != nil {
		c.t.Fatal(err)
	}
}

// TestUnknownToGit: the guard admits exceptions that are not in Git, reports them, and deletes them
// if configured. While Git is unreadable it neither reports nor deletes them.
func TestUnknownToGit(t *testing.T) {
	ns := namespace(t)
	target := cluster.Target{Group: "policies.kyverno.io", Version: "v1", Namespace: ns}
	sealed := seal(t, draft{name: "in", namespace: ns}.in(target), draft{name: "out", namespace: ns}.in(target))
	c := newClone(t)
	flags := []string{"--git", c.dir}
	is := func(i *instance, what string, want ...string) {
		t.Helper()
		i.until(t, what, func(ctx context.Context) error { return reported(ctx, ns, want) })
	}
	readable := func(i *instance, yes int) {
		t.Helper()
		line := fmt.Sprintf("polex_guard_git_last_read_successful %d", yes)
		i.until(t, "the metric", func(ctx context.Context) error { return i.measures(ctx, line) })
	}

	// Before the first fetch, nothing is unknown.
	i := settings{flags: flags}.run(t)
	i.register(t)
	for _, text := range sealed {
		create(t, target, text).want(t, http.StatusCreated)
	}
	is(i, "the report without Git", "in verified pass", "out verified pass")
	readable(i, 0)
	i.until(t, "an Event about Git", func(ctx context.Context) error {
		return contains(ctx, "/apis/events.k8s.io/v1/namespaces/default/events", `"reason":"GitUnreadable"`)
	})

	c.holds(map[string]string{"in.yaml": sealed[0]})
	is(i, "the report", "in verified pass", "out unknown-to-git fail")
	readable(i, 1)
	i.until(t, "an Event", func(ctx context.Context) error {
		return contains(ctx, "/apis/events.k8s.io/v1/namespaces/"+ns+"/events", `"note":"[unknown-to-git] no file of the repository has this signed content`)
	})
	i.until(t, "the metrics", func(ctx context.Context) error {
		return i.measures(ctx, `polex_guard_exceptions{kind="PolicyException.policies.kyverno.io",reason="unknown-to-git"} 1`)
	})

	// Both come to Git; all files are removed; the objects are lost, then restored.
	c.holds(map[string]string{"both.yaml": sealed[0] + "---\n" + sealed[1]})
	is(i, "the report on both", "in verified pass", "out verified pass")
	c.holds(map[string]string{})
	is(i, "the report on none", "in unknown-to-git fail", "out unknown-to-git fail")
	c.damaged(true)
	is(i, "the report without objects", "in verified pass", "out verified pass")
	readable(i, 0)
	c.damaged(false)
	is(i, "the report with them again", "in unknown-to-git fail", "out unknown-to-git fail")
	unregister(t)
	i.group.Stop()

	c.holds(map[string]string{"in.yaml": sealed[0]})
	enforcing := settings{flags: append(flags, "--enforce-existing", "--recheck-interval", "1s")}.run(t)
	is(enforcing, "the removal", "in verified pass")
	do(t, cluster.Request{Method: http.MethodGet, Path: target.Path("out")}).want(t, http.StatusNotFound)
	if err := enforcing.measures(t.Context(), `polex_guard_deletions_total{reason="unknown-to-git"} 1`); err != nil {
		t.Error(err)
	}
}

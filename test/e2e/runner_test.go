//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// actionCommit stands for the commit of this repository that a workflow names.
const actionCommit = "0123456789abcdef0123456789abcdef01234567"

// runner plays the workflow of the action's README with act: on this machine,
// without containers and without a network, for what GitHub would fetch lies in
// folders. act itself does what actions/checkout would, by copying the
// repository; actions/setup-go is stood in for.
type runner struct {
	workflow string
	actions  []string // act's arguments that say where actions lie
	env      []string
}

func newRunner(t *testing.T) *runner {
	t.Helper()
	// Only what is built and run: act copies all that it finds.
	action := t.TempDir()
	for _, part := range []string{"actions", "cmd", "internal", "pkg"} {
		if err := os.CopyFS(filepath.Join(action, part), os.DirFS(fromRoot(part))); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		place(t, filepath.Join(action, name), contents(t, name))
	}
	setup := regexp.MustCompile(`actions/setup-go@[0-9a-f]{40}`).FindString(contents(t, "actions/validate/action.yml"))
	_, rest, _ := strings.Cut(contents(t, "actions/validate/README.md"), "```yaml\n")
	workflow, _, _ := strings.Cut(rest, "```\n")
	if !strings.Contains(workflow, "on: pull_request\n") || !strings.Contains(workflow, "polex-dev/polex/actions/validate@<commit>") {
		t.Fatalf("the README shows no workflow: %s", workflow)
	}
	// The modules that the action is built from have to be here by then.
	output(t, exec.CommandContext(t.Context(), "go", "build", "-C", fromRoot("."), "-trimpath", "-o", os.DevNull, "./cmd/polex-validate"))
	const nobody = "http://127.0.0.1:9"
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1", "ACT_DISABLE_VERSION_CHECK=1", "GOPROXY=off", "HTTP_PROXY=" + nobody, "HTTPS_PROXY=" + nobody}
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOFLAGS", "GOTOOLCHAIN"} {
		env = append(env, name+"="+output(t, exec.CommandContext(t.Context(), "go", "env", name)))
	}
	return &runner{
		workflow: workflow, env: env,
		actions: []string{
			"--local-repository", "polex-dev/polex@" + actionCommit + "=" + action,
			"--local-repository", setup + "=" + fromRoot("test/e2e/testdata/setup-go"),
		},
	}
}

// repository is one that the workflow is played in.
type repository struct {
	*runner
	dir string
}

// repository makes one with the workflow, a narrow exception, and files.
func (r *runner) repository(t *testing.T, event string, files map[string]string) *repository {
	t.Helper()
	made := &repository{r, t.TempDir()}
	made.git(t, "init", "--quiet", "--initial-branch=main")
	made.git(t, "config", "user.name", "a")
	made.git(t, "config", "user.email", "a@example.com")
	all := maps.Clone(files)
	all["unsigned/web.yaml"] = narrow
	all[".github/workflows/validate.yaml"] = strings.NewReplacer("on: pull_request\n", "on: "+event+"\n", "<commit>", actionCommit).Replace(r.workflow)
	made.write(t, all)
	return made
}

func (r *repository) write(t *testing.T, files map[string]string) {
	t.Helper()
	for name, text := range files {
		place(t, filepath.Join(r.dir, filepath.FromSlash(name)), text)
	}
}

// commit makes a commit of all there is, and returns its name.
func (r *repository) commit(t *testing.T) string {
	t.Helper()
	r.git(t, "add", "--all")
	r.git(t, "commit", "--quiet", "--message", "a commit")
	return r.git(t, "rev-parse", "HEAD")
}

func (r *repository) git(t *testing.T, args ...string) string {
	t.Helper()
	return output(t, r.command(t.Context(), "git", args...))
}

func (r *repository) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir, c.Env = r.dir, r.env
	return c
}

// run plays the workflow for an event.
func (r *repository) run(t *testing.T, event, payload string) played {
	t.Helper()
	file := filepath.Join(t.TempDir(), "event.json")
	place(t, file, payload)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	args := []string{event, "--eventpath", file, "--platform", "ubuntu-24.04=-self-hosted", "--json", "--no-cache-server", "--action-cache-path", t.TempDir()}
	act := r.command(ctx, fromRoot(binaries+"/act"), append(args, r.actions...)...)
	var out, errs bytes.Buffer
	act.Stdout, act.Stderr = &out, &errs
	// It ends what it has started when it is asked to.
	act.Cancel = func() error { return act.Process.Signal(os.Interrupt) }
	act.WaitDelay = 10 * time.Second
	err := act.Run()
	var status *exec.ExitError
	if err != nil && !errors.As(err, &status) || ctx.Err() != nil {
		t.Fatalf("run act, which `make e2e` builds: %v\n%s%s", err, out.Bytes(), errs.Bytes())
	}
	log := readLog(t, out.Bytes())
	if (log.result == "success") != (err == nil) {
		t.Errorf("the job ended with %q, and act with %v: %s", log.result, err, errs.Bytes())
	}
	return log
}

// place writes a file, and the folders above it.
func place(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// contents is a file of this repository.
func contents(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(fromRoot(name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// output runs what must not fail, and returns what it prints.
func output(t *testing.T, c *exec.Cmd) string {
	t.Helper()
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %v", c.Args, err)
	}
	return strings.TrimSpace(string(out))
}

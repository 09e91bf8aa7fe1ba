//go:build e2e

package workflow

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// actionCommit stands for the commit of this repository that a workflow names.
const actionCommit = "0123456789abcdef0123456789abcdef01234567"

// runner plays workflows.
type runner struct {
	actions []string // act's arguments that say where actions lie
	env     []string
	// commands is a folder with polex's.
	commands string
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
	// The modules that they are built from have to be here before any is built
	// without a network.
	commands := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-C", fromRoot("."), "-trimpath", "-o", commands+string(filepath.Separator), "./cmd/...")
	build.Env = append(build.Environ(), "CGO_ENABLED=0")
	output(t, build)
	const nobody = "http://127.0.0.1:9"
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1", "ACT_DISABLE_VERSION_CHECK=1", "GOPROXY=off", "HTTP_PROXY=" + nobody, "HTTPS_PROXY=" + nobody,
		"ARTIFACTS=" + t.TempDir()}
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOFLAGS", "GOTOOLCHAIN"} {
		env = append(env, name+"="+output(t, exec.CommandContext(t.Context(), "go", "env", name)))
	}
	r := &runner{env: env, commands: commands, actions: []string{"--local-repository", "polex-dev/polex@" + actionCommit + "=" + action}}
	for _, name := range []string{"setup-go", "upload-artifact", "download-artifact"} {
		for _, pinned := range pins(t, name) {
			r.actions = append(r.actions, "--local-repository", pinned+"="+fromRoot("test/e2e/workflow/testdata/"+name))
		}
	}
	return r
}

// pins are the commits by which actions and examples name one of GitHub's actions.
func pins(t *testing.T, name string) []string {
	t.Helper()
	var found []string
	for _, pattern := range []string{"actions/*/action.yml", "examples/github/.github/workflows/*.yaml"} {
		files, err := filepath.Glob(fromRoot(pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, regexp.MustCompile(`actions/`+name+`@[0-9a-f]{40}`).FindAllString(string(text), -1)...)
		}
	}
	slices.Sort(found)
	if found = slices.Compact(found); len(found) == 0 {
		t.Fatalf("nothing uses actions/%s", name)
	}
	return found
}

// repository is one that workflows are played in.
type repository struct {
	*runner
	dir string
}

// repository makes one with files, and without a commit.
func (r *runner) repository(t *testing.T, files map[string]string) *repository {
	t.Helper()
	made := &repository{r, t.TempDir()}
	made.git(t, "init", "--quiet", "--initial-branch=main")
	made.git(t, "config", "user.name", "a")
	made.git(t, "config", "user.email", "a@example.com")
	made.write(t, files)
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

// play says what is run, and what for.
type play struct {
	workflow string // its file
	event    string
	payload  string // what GitHub says of the event
	env      []string
	api      string // the address of GitHub's
	// builds has the actions build their commands, as they do where actions/setup
	// has not run. It takes its time: without it, they are those of the test.
	builds bool
}

// run plays a workflow.
func (r *repository) run(t *testing.T, p play) played {
	t.Helper()
	file := filepath.Join(t.TempDir(), "event.json")
	place(t, file, p.payload)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	args := []string{p.event, "--workflows", p.workflow, "--eventpath", file, "--platform", "ubuntu-24.04=-self-hosted", "--json", "--no-cache-server", "--action-cache-path", t.TempDir()}
	if !p.builds {
		p.env = append(slices.Clone(p.env), "POLEX_BIN="+r.commands)
	}
	if p.api != "" {
		p.env = append(p.env, "GITHUB_API_URL="+p.api, "GITHUB_REPOSITORY="+owner+"/"+name)
		args = append(args, "--secret", "GITHUB_TOKEN="+token)
	}
	for _, variable := range p.env {
		args = append(args, "--env", variable)
	}
	act := r.command(ctx, fromRoot("bin/e2e/act"), append(args, r.actions...)...)
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
	if len(log.results) == 0 {
		t.Fatalf("no job was run: %s%s", out.Bytes(), errs.Bytes())
	}
	if failed := slices.Contains(slices.Collect(maps.Values(log.results)), "failure"); failed != (err != nil) {
		t.Errorf("the jobs ended with %q, and act with %v: %s", log.results, err, errs.Bytes())
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

func fromRoot(path string) string {
	absolute, err := filepath.Abs(filepath.Join("..", "..", "..", filepath.FromSlash(path)))
	if err != nil {
		return path
	}
	return absolute
}

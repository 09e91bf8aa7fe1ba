package github

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// ActionCommit is the placeholder for this repository's commit in workflows.
const ActionCommit = "0123456789abcdef0123456789abcdef01234567"

// Options has the folders.
type Options struct {
	Root string // of this repository
	Dir  string // an empty folder for the runner's files
}

// Runner runs workflows.
type Runner struct {
	// Commands is a folder with polex's commands, built from this repository.
	Commands string

	options Options
	env     []string
	actions []string // act's arguments with the folders of actions
}

// NewRunner builds the commands, and copies the actions.
func NewRunner(ctx context.Context, options Options) (*Runner, error) {
	r := &Runner{options: options, Commands: filepath.Join(options.Dir, "commands")}
	action := filepath.Join(options.Dir, "polex")
	for _, dir := range []string{r.Commands, action, r.at("home")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, err
		}
	}
	// Only the files for the build: act copies everything that it finds.
	for _, part := range []string{"actions", "cmd", "internal", "pkg", "policies"} {
		if err := os.CopyFS(filepath.Join(action, part), os.DirFS(r.root(part))); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(r.root(name))
		if err != nil {
			return nil, err
		}
		if err := place(filepath.Join(action, name), string(text)); err != nil {
			return nil, err
		}
	}
	// Download the modules before the builds without a network.
	build := exec.CommandContext(ctx, "go", "build", "-C", options.Root, "-trimpath", "-o", r.Commands+string(filepath.Separator), "./cmd/...")
	build.Env = append(build.Environ(), "CGO_ENABLED=0")
	if _, err := output(build); err != nil {
		return nil, err
	}
	if err := r.environment(ctx); err != nil {
		return nil, err
	}
	r.actions = []string{"--local-repository", "polex-dev/polex@" + ActionCommit + "=" + action}
	// act checks out itself, unless a step names another commit than that of the run.
	for _, name := range []string{"setup-go", "checkout", "upload-artifact", "download-artifact"} {
		pinned, err := r.pins(name)
		if err != nil {
			return nil, err
		}
		for _, pin := range pinned {
			r.actions = append(r.actions, "--local-repository", pin+"="+r.root("test/e2e/github/testdata/"+name))
		}
	}
	return r, nil
}

// environment makes the variables of all processes: Go's caches, and no connection beyond loopback.
func (r *Runner) environment(ctx context.Context) error {
	const nobody = "http://127.0.0.1:9"
	r.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.at("home"), "GIT_CONFIG_NOSYSTEM=1", "ACT_DISABLE_VERSION_CHECK=1", "GOPROXY=off",
		"HTTP_PROXY=" + nobody, "HTTPS_PROXY=" + nobody}
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOFLAGS", "GOTOOLCHAIN"} {
		value, err := output(exec.CommandContext(ctx, "go", "env", name))
		if err != nil {
			return err
		}
		r.env = append(r.env, name+"="+value)
	}
	return nil
}

// pins returns the pinned commits of one of GitHub's actions in actions and examples.
func (r *Runner) pins(name string) ([]string, error) {
	var found []string
	for _, pattern := range []string{"actions/*/action.yml", "examples/github/.github/workflows/*.yaml"} {
		files, err := filepath.Glob(r.root(pattern))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			found = append(found, regexp.MustCompile(`actions/`+name+`@[0-9a-f]{40}`).FindAllString(string(text), -1)...)
		}
	}
	slices.Sort(found)
	if found = slices.Compact(found); len(found) == 0 {
		return nil, fmt.Errorf("nothing uses actions/%s", name)
	}
	return found, nil
}

// at returns a path in the runner's folder, and root one in this repository.
func (r *Runner) at(name string) string { return filepath.Join(r.options.Dir, name) }

func (r *Runner) root(path string) string {
	return filepath.Join(r.options.Root, filepath.FromSlash(path))
}

// place writes a file, and the folders above it.
func place(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o600)
}

// output runs a command that must succeed, and returns its output.
func output(c *exec.Cmd) (string, error) {
	var stderr strings.Builder
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%v: %w\n%s%s", c.Args, err, out, &stderr)
	}
	return strings.TrimSpace(string(out)), nil
}

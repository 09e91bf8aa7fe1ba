package commit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/polex-dev/polex/internal/git"
)

const (
	maxSaid   = 8 << 10  // maximum of Git's error message, in bytes; the rest is dropped
	maxAnswer = 64 << 20 // maximum of Git's output, in bytes; more is an error
)

// gitError is a failed Git command with its message.
type gitError struct {
	command string
	said    string // untrusted: hooks of a remote also write it
	lock    string // the lock file of this clone that stops Git, or ""
	err     error
}

// lockMessage is Git's message about a lock file.
var lockMessage = regexp.MustCompile(`[Uu]nable to create '([^'\n]+\.lock)': File exists`)

// Error returns Git's message, or the exit code if there is no message.
func (e *gitError) Error() string {
	if e.lock != "" {
		return fmt.Sprintf("git %s: another Git process holds %s, or a killed one has left it: if no Git runs there, rm %q", e.command, e.lock, e.lock)
	}
	if e.said == "" {
		return fmt.Sprintf("git %s: %v", e.command, e.err)
	}
	return fmt.Sprintf("git %s: %s", e.command, e.said)
}

// Unwrap returns the exit code.
func (e *gitError) Unwrap() error { return e.err }

// kept are the variables for Git's remote access, identity and configuration. All other GIT_
// variables are dropped: they could point Git to another repository, index or object store.
var kept = []string{"GIT_CONFIG_", "GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_SSH", "GIT_ASKPASS", "GIT_HTTP_", "GIT_SSL_", "GIT_CURL_", "GIT_PROXY_", "GIT_PROTOCOL",
	"GIT_ALLOW_PROTOCOL", "GIT_TRACE", "GIT_REDACT_COOKIES", "GIT_EXEC_PATH", "GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM"}

// call is one run of the git command.
type call struct {
	input io.Reader
	env   []string
	// hooks runs the hooks of the clone. Others than those of a push are for people.
	hooks bool
}

// command returns a git command in the work tree, without a shell.
func (c *Clone) command(ctx context.Context, how call, args ...string) *exec.Cmd {
	options := []string{"--no-replace-objects", "-c", "safe.bareRepository=explicit", "-c", "core.fsmonitor=false", "-c", "core.fsync=all", "-c", "core.fsyncMethod=fsync"}
	if !how.hooks {
		options = append(options, "-c", "core.hooksPath="+os.DevNull)
	}
	command := exec.CommandContext(ctx, "git", append(options, args...)...) // #nosec G204 -- no shell; the arguments are checked where they are made
	command.Dir = c.dir
	command.Env = append(slices.DeleteFunc(command.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "GIT_") && !slices.ContainsFunc(kept, func(prefix string) bool { return strings.HasPrefix(variable, prefix) })
	}), "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
	if c.folders.Own != "" {
		command.Env = append(command.Env, "GIT_DIR="+c.folders.Own, "GIT_WORK_TREE="+c.dir)
	}
	command.Env = append(command.Env, how.env...)
	// Git removes its own locks when interrupted.
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = 10 * time.Second
	command.Stdin = how.input
	return command
}

// git runs the git command and returns its standard output.
func (c *Clone) git(ctx context.Context, how call, args ...string) (string, error) {
	command := c.command(ctx, how, args...)
	out, said := bounded{room: maxAnswer}, bounded{room: maxSaid}
	command.Stdout, command.Stderr = &out, &said
	name := args[0]
	for rest := args; name == "-c"; name = rest[0] {
		rest = rest[2:]
	}
	if err := command.Run(); err != nil {
		if command.Process != nil && c.folders.Own != "" {
			_ = os.Remove(filepath.Join(c.folders.Own, fmt.Sprintf("fast_import_crash_%d", command.Process.Pid))) // repeats the error message
		}
		failed := &gitError{command: name, said: strings.TrimSpace(said.kept.String()), err: err}
		if lock := lockMessage.FindStringSubmatch(failed.said); lock != nil && strings.HasPrefix(lock[1], c.folders.Common+"/") {
			failed.lock = lock[1]
		}
		return out.kept.String(), failed
	}
	// A remote with many names could push the relevant one out of a truncated answer.
	if out.dropped {
		return "", &gitError{command: name, err: fmt.Errorf("the answer has more than %d MiB", maxAnswer>>20)}
	}
	return out.kept.String(), nil
}

// write runs one step of Git that writes to the clone.
func (c *Clone) write(ctx context.Context, step string, how call, args ...string) (out string, err error) {
	return out, c.do(step, func() error {
		out, err = c.git(ctx, how, args...)
		return err
	})
}

// ask runs a read-only Git command.
func (c *Clone) ask(how call, args ...string) (string, error) {
	how.env = append(how.env, "GIT_OPTIONAL_LOCKS=0", "GIT_LITERAL_PATHSPECS=1")
	return c.git(context.Background(), how, args...)
}

// setting returns a setting of Git's configuration from any source: system, user, clone, included
// files or environment. It returns "" if the setting is not set, for which Git's exit code is 1. Every
// other failure is an error, because a setting that Git cannot read could be any.
func (c *Clone) setting(name ...string) (string, error) {
	value, err := c.ask(call{}, append([]string{"config"}, name...)...)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		return "", nil
	}
	return strings.TrimSuffix(value, "\n"), err
}

// is reports whether Git reads a setting as the value.
func (c *Clone) is(value bool, name string) (bool, error) {
	read, err := c.setting("--type=bool", name)
	return err == nil && read == fmt.Sprint(value), err
}

// bounded keeps the beginning of its input.
type bounded struct {
	kept    bytes.Buffer
	room    int // bytes
	dropped bool
}

// Write accepts everything and keeps as much as fits.
func (b *bounded) Write(p []byte) (int, error) {
	fits := min(len(p), b.room-b.kept.Len())
	b.dropped = b.dropped || fits < len(p)
	_, _ = b.kept.Write(p[:fits])
	return len(p), nil
}

// named returns Git's environment variables for the author and the time.
func named(s git.Stamp) []string {
	date := stampDate(s)
	return []string{"GIT_AUTHOR_NAME=" + s.Name, "GIT_AUTHOR_EMAIL=" + s.Email, "GIT_AUTHOR_DATE=" + date,
		"GIT_COMMITTER_NAME=" + s.Name, "GIT_COMMITTER_EMAIL=" + s.Email, "GIT_COMMITTER_DATE=" + date}
}

func stampDate(s git.Stamp) string {
	return fmt.Sprintf("%d %s", s.When.Unix(), s.When.Format("-0700"))
}

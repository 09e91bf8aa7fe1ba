package commit

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/polex-dev/polex/internal/git"
)

const (
	maxSaid   = 8 << 10  // of Git's error message, in bytes; the rest is dropped
	maxAnswer = 64 << 20 // of Git's answer, in bytes; more is an error
)

// gitError is how Git ended, with its message.
type gitError struct {
	command string
	said    string // untrusted: a remote's hook writes it, too
	err     error
}

// Error returns Git's message, or how it ended where it said nothing.
func (e *gitError) Error() string {
	if e.said == "" {
		return fmt.Sprintf("git %s: %v", e.command, e.err)
	}
	return fmt.Sprintf("git %s: %s", e.command, e.said)
}

// Unwrap returns how Git ended.
func (e *gitError) Unwrap() error { return e.err }

// kept are the variables that say how Git reaches a remote, who commits and how it is
// configured. Every other GIT_ variable is left out: it could lead Git to another
// repository, index or object than the ones that are open here.
var kept = []string{"GIT_CONFIG_", "GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_SSH", "GIT_ASKPASS", "GIT_HTTP_", "GIT_SSL_", "GIT_CURL_", "GIT_PROXY_", "GIT_PROTOCOL",
	"GIT_ALLOW_PROTOCOL", "GIT_TRACE", "GIT_REDACT_COOKIES", "GIT_EXEC_PATH", "GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM"}

// call is one run of the git command.
type call struct {
	input io.Reader
	env   []string
	// writes says that this Git writes to the clone. It keeps the clone locked until it has
	// ended, should the process that started it be killed. It runs no hook: those of a commit
	// are for people, and the others would be told of steps that may be taken back.
	writes bool
}

// command is a run of the git command in the work tree, without a shell.
func (c *Clone) command(ctx context.Context, how call, args ...string) *exec.Cmd {
	options := []string{"--no-replace-objects", "-c", "safe.bareRepository=explicit", "-c", "core.fsmonitor=false", "-c", "core.fsync=all", "-c", "core.fsyncMethod=fsync"}
	if how.writes {
		options = append(options, "-c", "core.hooksPath="+os.DevNull)
	}
	command := exec.CommandContext(ctx, "git", append(options, args...)...) // #nosec G204 -- no shell; the arguments are checked where they are made
	command.Dir = c.dir
	command.Env = append(slices.DeleteFunc(command.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "GIT_") && !slices.ContainsFunc(kept, func(prefix string) bool { return strings.HasPrefix(variable, prefix) })
	}), "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
	if c.own != nil {
		command.Env = append(command.Env, "GIT_DIR="+c.own.Name(), "GIT_WORK_TREE="+c.dir)
	}
	command.Env = append(command.Env, how.env...)
	if how.writes {
		command.ExtraFiles = []*os.File{c.lock}
	}
	// Interrupted, Git takes its own locks away.
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = 10 * time.Second
	command.Stdin = how.input
	return command
}

// git runs the git command, and returns its standard output.
func (c *Clone) git(ctx context.Context, how call, args ...string) (string, error) {
	command := c.command(ctx, how, args...)
	out, said := bounded{room: maxAnswer}, bounded{room: maxSaid}
	command.Stdout, command.Stderr = &out, &said
	name := args[0]
	if name == "-c" {
		name = args[2]
	}
	if err := command.Run(); err != nil {
		if command.Process != nil && c.own != nil {
			_ = c.own.Remove(fmt.Sprintf("fast_import_crash_%d", command.Process.Pid)) // repeats what said has
		}
		return out.kept.String(), &gitError{command: name, said: strings.TrimSpace(said.kept.String()), err: err}
	}
	// A remote with names enough could push the one that counts out of an answer that is cut.
	if out.dropped {
		return "", &gitError{command: name, err: fmt.Errorf("the answer has more than %d MiB", maxAnswer>>20)}
	}
	return out.kept.String(), nil
}

// write is one step of Git that writes to the clone.
func (c *Clone) write(ctx context.Context, step string, how call, args ...string) (out string, err error) {
	how.writes = true
	return out, c.do(step, func() error {
		out, err = c.git(ctx, how, args...)
		return err
	})
}

// ask runs a command of Git that only reads.
func (c *Clone) ask(how call, args ...string) (string, error) {
	how.env = append(how.env, "GIT_OPTIONAL_LOCKS=0", "GIT_LITERAL_PATHSPECS=1")
	return c.git(context.Background(), how, args...)
}

// setting is one of Git's configuration as Git has it, wherever it stands: in a file of
// the system, of the user or of the clone, in one that those include, or in the
// environment. It is "" where nothing sets it.
func (c *Clone) setting(name string) string {
	value, err := c.ask(call{}, "config", "--get", name)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(value, "\n")
}

// is reports whether a setting of Git's has a value, as Git reads it.
func (c *Clone) is(value bool, name string) bool {
	said, err := c.ask(call{}, "config", "--type=bool", "--get", name)
	return err == nil && strings.TrimSpace(said) == fmt.Sprint(value)
}

// bounded keeps the beginning of what is written to it.
type bounded struct {
	kept    bytes.Buffer
	room    int // bytes
	dropped bool
}

// Write takes everything and keeps what there is room for.
func (b *bounded) Write(p []byte) (int, error) {
	fits := min(len(p), b.room-b.kept.Len())
	b.dropped = b.dropped || fits < len(p)
	_, _ = b.kept.Write(p[:fits])
	return len(p), nil
}

// named is what Git reads of who did something, and when.
func named(s git.Stamp) []string {
	date := stampDate(s)
	return []string{"GIT_AUTHOR_NAME=" + s.Name, "GIT_AUTHOR_EMAIL=" + s.Email, "GIT_AUTHOR_DATE=" + date,
		"GIT_COMMITTER_NAME=" + s.Name, "GIT_COMMITTER_EMAIL=" + s.Email, "GIT_COMMITTER_DATE=" + date}
}

func stampDate(s git.Stamp) string {
	return fmt.Sprintf("%d %s", s.When.Unix(), s.When.Format("-0700"))
}

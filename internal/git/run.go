package git

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
)

// Git runs the git command in one repository, without a shell. Nothing else of polex starts Git. In
// every run the messages are in English, and replacements (refs/replace), prompts, the file
// monitor, and repositories among the files of another one are off. Variables that lead to another
// repository, index or object store are dropped.
//
// A repository of others gets more. Its settings can name programs and addresses, and its author
// chose them:
//
//   - Git does not search for it. Folder names it, so that Git asks for no owner, and core.worktree
//     has no effect.
//   - No variable GIT_* of the caller applies.
//   - No object is fetched (GIT_NO_LAZY_FETCH). In an older Git, a fetch finds no protocol that is
//     allowed and no helper program.
//   - The commands that polex runs there read objects and references. They run no hook, filter,
//     pager, alias or external diff.
//
// Its alternates and its .git file can lead to other folders of the machine: the objects in them are
// checked like all others.
type Git struct {
	Dir    string // the working directory
	Folder string // the .git folder or file; if empty, Git searches it in Dir and above
	Common string // the .git folder that all work trees share: an error names a lock file in it
	// Own means that the clone is the caller's, with its configuration, remotes and identity.
	Own bool
}

// Call is one run of the git command.
type Call struct {
	Input io.Reader
	Env   []string
	// Hooks runs the hooks of the clone. Others than those of a push are for people.
	Hooks bool
	// Write means that the command may take locks of the index for a refresh.
	Write bool
	// Refuse, if set, is a part of a message of Git that makes the run an error.
	Refuse string
}

const (
	maxMessage = 8 << 10   // maximum of Git's error message, in bytes; the rest is dropped
	maxAnswer  = 256 << 20 // maximum of Git's output, in bytes; more is an error
	// minimum is the oldest Git with all options that polex uses.
	minimum = "polex requires Git 2.38 or later"
)

// ofOwn are the prefixes of the variables for Git's remote access, identity and configuration. They
// apply in a clone of the caller.
var ofOwn = []string{"GIT_CONFIG_", "GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_SSH", "GIT_ASKPASS", "GIT_HTTP_", "GIT_SSL_",
	"GIT_CURL_", "GIT_PROXY_", "GIT_PROTOCOL",
	"GIT_ALLOW_PROTOCOL", "GIT_TRACE", "GIT_REDACT_COOKIES", "GIT_EXEC_PATH", "GIT_CEILING_DIRECTORIES",
	"GIT_DISCOVERY_ACROSS_FILESYSTEM"}

// Command returns a git command. Git removes its locks when it is interrupted at the end of ctx.
func (g Git) Command(ctx context.Context, how Call, args ...string) *exec.Cmd {
	options := []string{"--no-replace-objects", "-c", "safe.bareRepository=explicit", "-c", "core.fsmonitor=false",
		"-c", "core.fsync=all", "-c", "core.fsyncMethod=fsync"}
	if !how.Hooks {
		options = append(options, "-c", "core.hooksPath="+os.DevNull)
	}
	command := exec.CommandContext(ctx, "git", append(options, args...)...) // #nosec G204 -- no shell; the arguments are checked where they are made
	command.Dir = g.Dir
	command.Env = append(slices.DeleteFunc(command.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "GIT_") && (!g.Own ||
			!slices.ContainsFunc(ofOwn, func(prefix string) bool { return strings.HasPrefix(variable, prefix) }))
	}), "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
	if g.Folder != "" {
		command.Env = append(command.Env, "GIT_DIR="+g.Folder, "GIT_WORK_TREE="+g.Dir)
	}
	if !g.Own {
		command.Env = append(command.Env, "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_EXEC_PATH="+os.DevNull,
			fmt.Sprintf("GIT_ALLOC_LIMIT=%d", processLimit))
	}
	if !how.Write {
		command.Env = append(command.Env, "GIT_OPTIONAL_LOCKS=0", "GIT_LITERAL_PATHSPECS=1")
	}
	command.Env = append(command.Env, how.Env...)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = 10 * time.Second
	command.Stdin = how.Input
	return command
}

// Run runs the git command and returns its standard output. Its failure is a *[CommandError].
func (g Git) Run(ctx context.Context, how Call, args ...string) (string, error) {
	command := g.Command(ctx, how, args...)
	out, message := bounded{room: maxAnswer}, bounded{room: maxMessage}
	command.Stdout, command.Stderr = &out, &message
	name := args[0]
	for rest := args; name == "-c"; name = rest[0] {
		rest = rest[2:]
	}
	if err := command.Run(); err != nil {
		if command.Process != nil && g.Folder != "" && g.Own {
			// repeats the error message
			_ = os.Remove(filepath.Join(g.Folder, fmt.Sprintf("fast_import_crash_%d", command.Process.Pid)))
		}
		return out.kept.String(), g.failure(name, message.kept.String(), err)
	}
	// Messages about other things could push the relevant one out.
	if how.Refuse != "" && (message.dropped || strings.Contains(message.kept.String(), how.Refuse)) {
		return "", &CommandError{Command: name, Message: strings.TrimSpace(message.kept.String())}
	}
	// A remote with many names could push the relevant one out of a truncated answer.
	if out.dropped {
		return "", &CommandError{Command: name, Err: fmt.Errorf("the answer has more than %d MiB", maxAnswer>>20)}
	}
	return out.kept.String(), nil
}

// CommandError is a failed Git command.
type CommandError struct {
	Command string
	Message string // Git's, untrusted: hooks of a remote also write it
	Lock    string // the lock file that stops Git, or ""

	Err error
}

// lockMessage is Git's message about a lock file.
var lockMessage = regexp.MustCompile(`[Uu]nable to create '([^'\n]+\.lock)': File exists`)

func (g Git) failure(command, message string, err error) *CommandError {
	e := &CommandError{Command: command, Message: strings.TrimSpace(message), Err: err}
	if lock := lockMessage.FindStringSubmatch(e.Message); lock != nil && strings.HasPrefix(lock[1], g.Common+"/") {
		e.Lock = lock[1]
	}
	const usage = 129 // Git's exit code for an option that it does not know
	switch {
	case errors.Is(err, exec.ErrNotFound):
		e.Err = fmt.Errorf("%w: %s", err, minimum)
	case ExitCode(err) == usage:
		first, _, _ := strings.Cut(e.Message, "\n")
		e.Message = first + ": " + minimum
	}
	return e
}

// Error returns Git's message, or the exit code if there is no message.
func (e *CommandError) Error() string {
	switch {
	case e.Lock != "":
		return fmt.Sprintf("git %s: another Git process holds %s, or a killed one has left it: if no Git runs there, "+
			"rm %q", e.Command, e.Lock, e.Lock)
	case e.Message == "":
		return fmt.Sprintf("git %s: %v", e.Command, e.Err)
	}
	return fmt.Sprintf("git %s: %s", e.Command, e.Message)
}

// Unwrap returns the exit code.
func (e *CommandError) Unwrap() error { return e.Err }

// ExitCode returns the exit code of a failed Git, or -1 for another error.
func ExitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return -1
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

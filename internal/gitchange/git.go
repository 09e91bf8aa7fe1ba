package gitchange

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

const (
	maxSaid   = 8 << 10  // of what Git says is wrong, in bytes; the rest is dropped
	maxAnswer = 64 << 20 // of what Git answers, in bytes; more is an error
)

// gitError is what Git ended with, and what it said.
type gitError struct {
	command string
	said    string // untrusted: a remote's hook writes it, too
	err     error
}

// Error returns what Git said, or how it ended where it said nothing.
func (e *gitError) Error() string {
	if e.said == "" {
		return fmt.Sprintf("git %s: %v", e.command, e.err)
	}
	return fmt.Sprintf("git %s: %s", e.command, e.said)
}

// Unwrap returns how Git ended.
func (e *gitError) Unwrap() error { return e.err }

// elsewhere are variables that make Git look at another repository than the one
// that is open, or at another part of it (git rev-parse --local-env-vars).
var elsewhere = []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
	"GIT_NAMESPACE", "GIT_GRAFT_FILE", "GIT_SHALLOW_FILE", "GIT_REPLACE_REF_BASE", "GIT_PREFIX", "GIT_IMPLICIT_WORK_TREE", "GIT_CONFIG"}

// git runs the git command in the work tree, without a shell, and returns what it
// wrote to standard output. It is for what only Git knows: how to reach a remote
// (credential helpers, the configuration of ssh, what a runner's checkout has
// left), and how to sign.
func (c *Clone) git(ctx context.Context, input string, more []string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "git", append([]string{"--no-replace-objects", "-c", "core.fsmonitor=false"}, args...)...) // #nosec G204 -- no shell; the arguments are checked where they are made
	command.Dir = c.work.Name()
	command.Env = append(slices.DeleteFunc(command.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains(elsewhere, name)
	}), append([]string{"GIT_TERMINAL_PROMPT=0", "LC_ALL=C"}, more...)...)
	// Interrupted, Git takes its own locks away.
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = 10 * time.Second
	command.Stdin = strings.NewReader(input)
	out, said := bounded{room: maxAnswer}, bounded{room: maxSaid}
	command.Stdout, command.Stderr = &out, &said
	if err := command.Run(); err != nil {
		return out.kept.String(), &gitError{command: args[0], said: strings.TrimSpace(said.kept.String()), err: err}
	}
	// A remote with names enough could push the one that counts out of an answer that is cut.
	if out.dropped {
		return "", &gitError{command: args[0], err: fmt.Errorf("the answer has more than %d MiB", maxAnswer>>20)}
	}
	return out.kept.String(), nil
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

// signedCommit lets Git write a commit and sign it, as its configuration says.
func (c *Clone) signedCommit(ctx context.Context, commit *object.Commit) (plumbing.Hash, error) {
	var hash plumbing.Hash
	err := c.do("sign the commit", func() error {
		date := fmt.Sprintf("%d %s", commit.Author.When.Unix(), commit.Author.When.Format("-0700"))
		out, err := c.git(ctx, commit.Message, []string{
			"GIT_AUTHOR_NAME=" + commit.Author.Name, "GIT_AUTHOR_EMAIL=" + commit.Author.Email, "GIT_AUTHOR_DATE=" + date,
			"GIT_COMMITTER_NAME=" + commit.Committer.Name, "GIT_COMMITTER_EMAIL=" + commit.Committer.Email, "GIT_COMMITTER_DATE=" + date,
		}, "commit-tree", "-S", "-F", "-", "-p", commit.ParentHashes[0].String(), commit.TreeHash.String())
		if err != nil {
			return fmt.Errorf("%w (commit.gpgSign or --sign-commit asks for it, by gpg.format and user.signingKey)", err)
		}
		name := strings.TrimSpace(out)
		if !plumbing.IsHash(name) {
			return fmt.Errorf("git commit-tree answered %q", name)
		}
		hash = plumbing.NewHash(name)
		written, err := object.GetCommit(c.repository.Storer, hash)
		if err != nil {
			return fmt.Errorf("read the signed commit: %w", err)
		}
		if written.TreeHash != commit.TreeHash || len(written.ParentHashes) != 1 || written.ParentHashes[0] != commit.ParentHashes[0] || written.PGPSignature == "" {
			return fmt.Errorf("commit %s is not the one that was to be signed", hash)
		}
		return nil
	})
	return hash, err
}

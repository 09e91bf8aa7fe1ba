package commit

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/retry"
)

// Options select the clone.
type Options struct {
	Dir string // any folder of the work tree
	// Step, if set, is called before every step with an effect that others can see: write an
	// object, restore files, move a reference, fetch or push. If it returns an error, the step
	// fails.
	Step func(name string) error
	// Timing limits the commands that ask a remote, and the waits between their tries.
	Timing retry.Timing
}

// Clone is a clone of a repository with a work tree. Other processes may use it at the same time. It
// is not safe for concurrent use by one process.
type Clone struct {
	*git.Repository

	// Recovered describes in one sentence what became of an interrupted change, or is empty.
	Recovered string

	options Options
	work    *os.Root // the work tree
	git     git.Git
	author  *Author // Git's author, after the first query
}

// Open opens the clone that contains a folder. It first completes an interrupted change. A folder
// without a work tree is an error.
func Open(o Options) (*Clone, error) {
	c := &Clone{options: o, git: git.Git{Dir: o.Dir, Own: true}}
	if err := c.open(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Clone) open() error {
	out, err := c.ask(git.Call{}, "rev-parse", "--path-format=absolute", "--show-toplevel", "--git-dir",
		"--git-common-dir")
	if err != nil {
		if strings.Contains(err.Error(), "not a git repository") {
			err = errors.New("not in a Git repository: run this in a clone")
		}
		return fmt.Errorf("open repository %q: %w", c.options.Dir, err)
	}
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(lines) != 3 {
		return fmt.Errorf("open repository %q: its path has a line break", c.options.Dir)
	}
	c.git.Dir, c.git.Folder, c.git.Common = lines[0], lines[1], lines[2]
	if c.work, err = os.OpenRoot(c.git.Dir); err != nil {
		return fmt.Errorf("open repository: %w", err)
	}
	if c.Repository, err = git.OpenWith(context.Background(), c.git); err != nil {
		return err
	}
	c.forgetOld()
	if c.Recovered, err = c.recover(); err != nil {
		return fmt.Errorf("an earlier run was interrupted: %w", err)
	}
	return nil
}

// Close ends the processes of the clone.
func (c *Clone) Close() error {
	var errs []error
	if c.Repository != nil {
		errs = append(errs, c.Repository.Close())
	}
	if c.work != nil {
		errs = append(errs, c.work.Close())
	}
	return errors.Join(errs...)
}

// do runs one step.
func (c *Clone) do(name string, step func() error) error {
	if c.options.Step != nil {
		if err := c.options.Step(name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := step(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// temporaryFolder is the folder of this package's temporary references.
const temporaryFolder = "refs/polex/"

// temporary returns a prefix for references that no other run uses, with its time.
func temporary() string {
	return fmt.Sprintf("%s%d-%s/", temporaryFolder, time.Now().Unix(), rand.Text())
}

// forgetOld deletes the temporary references of killed runs. Those that cannot be deleted do not
// matter.
func (c *Clone) forgetOld() {
	out, _ := c.ask(git.Call{}, "for-each-ref", "--format=%(refname)", temporaryFolder)
	for name := range strings.FieldsSeq(out) {
		stamp, _, _ := strings.Cut(strings.TrimPrefix(name, temporaryFolder), "-")
		made, err := strconv.ParseInt(stamp, 10, 64)
		if err == nil && time.Since(time.Unix(made, 0)) > leftAfter {
			_, _ = c.write(context.Background(), "delete "+name, git.Call{}, "update-ref", "-d", "--", name)
		}
	}
}

// write runs one step of Git that writes to the clone.
func (c *Clone) write(ctx context.Context, step string, how git.Call, args ...string) (out string, err error) {
	how.Write = true
	return out, c.do(step, func() error {
		out, err = c.git.Run(ctx, how, args...)
		return err
	})
}

// ask runs a read-only Git command.
func (c *Clone) ask(how git.Call, args ...string) (string, error) {
	return c.git.Run(context.Background(), how, args...)
}

// setting returns a setting of Git's configuration from any source: system, user, clone, included
// files or environment. It returns "" if the setting is not set, for which Git's exit code is 1. Every
// other failure is an error, because a setting that Git cannot read could be any.
func (c *Clone) setting(name ...string) (string, error) {
	value, err := c.ask(git.Call{}, append([]string{"config"}, name...)...)
	if git.ExitCode(err) == 1 {
		return "", nil
	}
	return strings.TrimSuffix(value, "\n"), err
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

// ErrBranchName means that a text is not a branch name.
var ErrBranchName = errors.New("not the name of a branch")

// CheckBranch rejects names that Git does not allow for a branch or reads as something else on a
// command line: an option, HEAD, or a full reference.
func CheckBranch(name string) error {
	if name == "HEAD" || strings.HasPrefix(name, "-") || strings.HasPrefix(name, "refs/") || !utf8.ValidString(name) ||
		git.CheckRevision(name) != nil {
		return fmt.Errorf("%q: %w", name, ErrBranchName)
	}
	return nil
}

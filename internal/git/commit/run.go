package commit

import (
	"context"
	"fmt"
	"strings"

	"github.com/polex-dev/polex/internal/git"
)

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

// is reports whether Git reads a setting as the value.
func (c *Clone) is(value bool, name string) (bool, error) {
	read, err := c.setting("--type=bool", name)
	return err == nil && read == fmt.Sprint(value), err
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

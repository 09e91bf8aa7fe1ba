package github

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Repository is a repository with workflows to run.
type Repository struct {
	*Runner
	Dir string // its work tree, which act copies
	// Remote is the folder of the bare remote repository; "" for none.
	Remote string
}

// Repository creates one in an empty folder, with files and without a commit.
func (r *Runner) Repository(ctx context.Context, dir string, files map[string]string) (*Repository, error) {
	made := &Repository{Runner: r, Dir: dir}
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch=main"},
		{"config", "user.name", "a"},
		{"config", "user.email", "a@example.com"},
	} {
		if _, err := made.Git(ctx, args...); err != nil {
			return nil, err
		}
	}
	return made, made.Write(files)
}

// Push commits all files, and creates a bare repository with that commit in the folder remote, for
// access at url. Later pushes have an author of their own; this one has none.
func (r *Repository) Push(ctx context.Context, remote, url string) error {
	if _, err := r.Commit(ctx); err != nil {
		return err
	}
	r.Remote = remote
	for _, args := range [][]string{
		{"config", "--unset", "user.name"},
		{"config", "--unset", "user.email"},
		{"init", "--quiet", "--bare", "--initial-branch=main", remote},
		{"remote", "add", "origin", url},
		{"push", "--quiet", "--set-upstream", "origin", "main"},
	} {
		if _, err := r.Git(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}

// Write writes files into the work tree.
func (r *Repository) Write(files map[string]string) error {
	for name, text := range files {
		if err := place(filepath.Join(r.Dir, filepath.FromSlash(name)), text); err != nil {
			return err
		}
	}
	return nil
}

// Commit commits all files, and returns the commit.
func (r *Repository) Commit(ctx context.Context) (string, error) {
	for _, args := range [][]string{{"add", "--all"}, {"commit", "--quiet", "--message", "a commit"}} {
		if _, err := r.Git(ctx, args...); err != nil {
			return "", err
		}
	}
	return r.Git(ctx, "rev-parse", "HEAD")
}

// Propose commits files on a new branch, like a pull request, and returns its commit, which stays
// checked out.
func (r *Repository) Propose(ctx context.Context, branch string, files map[string]string) (string, error) {
	if _, err := r.Git(ctx, "switch", "--quiet", "--create", branch); err != nil {
		return "", err
	}
	if err := r.Write(files); err != nil {
		return "", err
	}
	if _, err := r.Git(ctx, "add", "--all"); err != nil {
		return "", err
	}
	if _, err := r.Git(ctx, as("alice", "commit", "--quiet", "--message", "Ask for it")...); err != nil {
		return "", err
	}
	return r.Git(ctx, "rev-parse", "HEAD")
}

// Offer checks out the commit that GitHub makes for the runs of a pull request: the merge of a
// branch into main, on no branch. It returns that commit.
func (r *Repository) Offer(ctx context.Context, branch string) (string, error) {
	for _, args := range [][]string{
		{"checkout", "--quiet", "--detach", "main"},
		as("GitHub", "merge", "--quiet", "--no-ff", "--message", "Merge "+branch+" into main", branch),
	} {
		if _, err := r.Git(ctx, args...); err != nil {
			return "", err
		}
	}
	return r.Git(ctx, "rev-parse", "HEAD")
}

// Merge merges a branch into main of the remote like a pull request, and returns the commit. The
// branch is deleted.
func (r *Repository) Merge(ctx context.Context, branch string) (string, error) {
	for _, args := range [][]string{
		{"switch", "--quiet", "main"},
		as("bob", "merge", "--quiet", "--no-ff", "--message", "Merge a pull request", branch),
		{"branch", "--quiet", "--delete", branch},
		{"push", "--quiet"},
	} {
		if _, err := r.Git(ctx, args...); err != nil {
			return "", err
		}
	}
	return r.Git(ctx, "rev-parse", "HEAD")
}

// as returns the arguments for a Git command as a person.
func as(person string, args ...string) []string {
	return append([]string{"-c", "user.name=" + person, "-c", "user.email=" + person + "@example.com"}, args...)
}

// Git runs Git in the work tree, and returns its output.
func (r *Repository) Git(ctx context.Context, args ...string) (string, error) {
	return output(r.Command(ctx, "git", args...))
}

// Command prepares a program that runs in the work tree.
func (r *Repository) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir, c.Env = r.Dir, r.env
	return c
}

// Tip returns the commit of the remote's main.
func (r *Repository) Tip(ctx context.Context) (string, error) {
	return r.Git(ctx, "-C", r.Remote, "rev-parse", "main")
}

// Holds lists the files in a folder of the remote's main, except its README.
func (r *Repository) Holds(ctx context.Context, folder string) ([]string, error) {
	listed, err := r.Git(ctx, "-C", r.Remote, "ls-tree", "-r", "--name-only", "main", folder+"/")
	if err != nil {
		return nil, err
	}
	var files []string
	for file := range strings.SplitSeq(listed, "\n") {
		if file != "" && file != folder+"/README.md" {
			files = append(files, file)
		}
	}
	return files, nil
}

// scratch creates a new folder.
func (r *Runner) scratch() (string, error) { return os.MkdirTemp(r.options.Dir, "play-") }

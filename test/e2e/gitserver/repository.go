package gitserver

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/polex-dev/polex/test/e2e/servers"
)

// isolated are variables that hide the user's settings and the current repository from git.
var isolated = []string{
	"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_SYSTEM=" + os.DevNull, "GIT_TERMINAL_PROMPT=0",
	"GIT_AUTHOR_NAME=e2e", "GIT_AUTHOR_EMAIL=e2e@example.com", "GIT_COMMITTER_NAME=e2e", "GIT_COMMITTER_EMAIL=e2e@example.com",
}

// Create creates an empty repository with the branch main.
func (s *Server) Create(ctx context.Context, name string) error {
	_, err := s.run(ctx, "", "init", "--quiet", "--bare", "--initial-branch=main", s.Path(name))
	return err
}

// Commit makes one commit on main with changes by path, and returns it. A text is the new content
// of a file, and nil deletes it.
func (s *Server) Commit(ctx context.Context, name, message string, changes map[string][]byte) (string, error) {
	work, err := os.MkdirTemp("", "polex-e2e-commit-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	if _, err := s.run(ctx, "", "clone", "--quiet", s.Path(name), work); err != nil {
		return "", err
	}
	for path, text := range changes {
		file := filepath.Join(work, filepath.FromSlash(path))
		if text == nil {
			if err := os.Remove(file); err != nil {
				return "", err
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return "", err
		}
		if err := os.WriteFile(file, text, 0o600); err != nil {
			return "", err
		}
	}
	for _, step := range [][]string{{"add", "--all"}, {"commit", "--quiet", "--allow-empty", "-m", message}, {"push", "--quiet", "origin", "HEAD:refs/heads/main"}} {
		if _, err := s.run(ctx, work, step...); err != nil {
			return "", err
		}
	}
	commit, err := s.run(ctx, work, "rev-parse", "HEAD")
	return strings.TrimSpace(commit), err
}

// run runs git in a folder; "" for any.
func (s *Server) run(ctx context.Context, dir string, args ...string) (string, error) {
	program, err := exec.LookPath("git")
	if err != nil {
		return "", err
	}
	out, err := s.git.Output(ctx, servers.Command{Program: program, Dir: dir, Env: isolated, Args: args})
	if err != nil {
		return "", fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return string(out), nil
}

// Archive returns a folder of a commit as a compressed tar.
func (s *Server) Archive(ctx context.Context, name, commit, folder string) ([]byte, error) {
	text, err := s.run(ctx, s.Path(name), "archive", "--format=tar.gz", commit, folder)
	return []byte(text), err
}

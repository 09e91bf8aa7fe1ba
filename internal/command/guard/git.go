package guard

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"

	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/guard"
	"github.com/polex-dev/polex/internal/guard/repository"
)

// checkGit rejects invalid flags about the repository. It does not open the repository, because a
// sidecar may clone it later.
func (f *serveFlags) checkGit() error {
	if !f.given("git") {
		if f.given("ref") || f.given("path") {
			return &cli.UsageError{Err: errors.New("--ref and --path require --git"), Hint: "add --git FOLDER, the clone to read"}
		}
		return nil
	}
	var bad *git.RevisionError
	if err := git.CheckRevision(f.GitRevision); errors.As(err, &bad) {
		return &cli.UsageError{Err: err, Hint: bad.Hint()}
	}
	for i, name := range f.GitPaths {
		if f.GitPaths[i] = path.Clean(filepath.ToSlash(name)); name == "" || !fs.ValidPath(f.GitPaths[i]) {
			return cli.Usagef("the path %q is outside of the repository", name)
		}
	}
	return nil
}

// readGit sets up the reading of the repository. Every replica reads it, so that a new leader has
// it.
func (g *process) readGit() error {
	if g.flags.Git == "" {
		return nil
	}
	reader := repository.Reader{Dir: g.flags.Git, Revision: g.flags.GitRevision, Paths: g.flags.GitPaths}
	g.git = &guard.Git{
		Read: reader.Read, Every: g.flags.ReloadInterval, Clock: g.clock, Metrics: g.metrics,
		Moved: func(c *guard.Commit) { g.log.Info("git", "commit", c.Hash, "messages", len(c.Messages)) },
		Unreadable: func(err error) {
			g.log.Error("the repository cannot be read, so no exception is reported as unknown-to-git", "error", err.Error())
			g.teller.GitUnreadable(g.pod, err)
		},
	}
	return g.manager.Add(manager.RunnableFunc(g.git.Run))
}

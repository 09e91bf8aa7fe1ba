package gitserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/polex-dev/polex/test/e2e/servers"
)

// starting is how long the daemon may take until it answers.
const starting = 30 * time.Second

// Server is a running one.
type Server struct {
	*servers.Group

	dir     string         // of the repositories
	address string         // host:port
	git     *servers.Group // of git's commands
}

// Start serves what is made in a folder, an empty one. The daemon ends with Close or
// with the context.
func Start(ctx context.Context, dir string) (*Server, error) {
	s := &Server{dir: filepath.Join(dir, "repositories")}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, err
	}
	s.git = &servers.Group{Dir: dir}
	program, err := s.daemon(ctx)
	if err != nil {
		return nil, err
	}
	free, err := servers.FreePorts(1)
	if err != nil {
		return nil, err
	}
	s.address = fmt.Sprintf("127.0.0.1:%d", free[0])
	s.Group = &servers.Group{Dir: dir}
	if err := s.Run(ctx, servers.Command{Program: program, Env: isolated, Args: []string{
		"--listen=127.0.0.1", fmt.Sprintf("--port=%d", free[0]), "--reuseaddr",
		"--base-path=" + s.dir, "--export-all", "--enable=receive-pack",
	}}); err != nil {
		return nil, err
	}
	within, cancel := context.WithTimeout(ctx, starting)
	defer cancel()
	if err := s.Listens(within, s.address); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// daemon is the path of the program itself: `git daemon` would run it as a process of
// its own, which does not end with git.
func (s *Server) daemon(ctx context.Context) (string, error) {
	folder, err := s.run(ctx, "", "--exec-path")
	if err != nil {
		return "", err
	}
	return filepath.Join(strings.TrimSpace(folder), "git-daemon"), nil
}

// URL is where a repository is fetched from and pushed to.
func (s *Server) URL(name string) string { return "git://" + s.address + "/" + name }

// Path is the folder of a repository, which is bare.
func (s *Server) Path(name string) string { return filepath.Join(s.dir, filepath.FromSlash(name)) }

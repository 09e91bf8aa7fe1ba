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

// starting is the timeout for the start of the daemon.
const starting = 30 * time.Second

// Server is a running daemon.
type Server struct {
	*servers.Group

	dir     string         // of the repositories
	address string         // host:port
	git     *servers.Group // of git's commands
}

// Start serves the repositories in an empty folder. The daemon stops with Close or with the
// context.
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

// daemon returns the path of the program itself. `git daemon` would start it as another process,
// which does not stop with git.
func (s *Server) daemon(ctx context.Context) (string, error) {
	folder, err := s.run(ctx, "", "--exec-path")
	if err != nil {
		return "", err
	}
	return filepath.Join(strings.TrimSpace(folder), "git-daemon"), nil
}

// URL returns the address of a repository for fetch and push.
func (s *Server) URL(name string) string { return "git://" + s.address + "/" + name }

// Path returns the folder of a bare repository.
func (s *Server) Path(name string) string { return filepath.Join(s.dir, filepath.FromSlash(name)) }

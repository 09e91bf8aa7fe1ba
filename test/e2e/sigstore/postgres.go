package sigstore

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"github.com/polex-dev/polex/test/e2e/servers"
)

// database is PostgreSQL, in a separate folder: it does not run as root, and its account cannot
// read root's folders.
type database struct {
	dir  string
	as   *servers.Account // nil for the current user
	port int
}

func (d *database) remove() error {
	if d == nil {
		return nil
	}
	return os.RemoveAll(d.dir)
}

func (d *database) uri() string {
	return fmt.Sprintf("postgresql://postgres@127.0.0.1:%d/postgres?sslmode=disable", d.port)
}

// startDatabase runs PostgreSQL with an empty database.
func (s *Sigstore) startDatabase(ctx, within context.Context) error {
	programs := map[string]string{}
	for _, name := range []string{"initdb", "postgres", "psql"} {
		var err error
		if programs[name], err = postgresProgram(name); err != nil {
			return err
		}
	}
	free, err := servers.FreePorts(1)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "polex-postgres-")
	if err != nil {
		return err
	}
	s.database = &database{dir: dir, port: free[0]}
	if os.Geteuid() == 0 {
		if s.database.as, err = nobody(); err != nil {
			return err
		}
		if err := os.Chown(dir, int(s.database.as.UID), int(s.database.as.GID)); err != nil {
			return err
		}
	}
	initdb := servers.Command{Program: programs["initdb"], As: s.database.as, Dir: dir,
		Args: []string{"--pgdata", filepath.Join(dir, "data"), "--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync"}}
	if err := s.Finish(within, initdb); err != nil {
		return err
	}
	// Without this signal, its shared memory would remain.
	if err := s.Run(ctx, servers.Command{Program: programs["postgres"], As: s.database.as, Dir: dir, End: syscall.SIGINT, Args: []string{
		"-D", filepath.Join(dir, "data"), "-p", strconv.Itoa(s.database.port), "-k", dir, "-h", "127.0.0.1", "-F",
	}}); err != nil {
		return err
	}
	trillian, err := servers.Source(within, s.options.Tools, "github.com/google/trillian")
	if err != nil {
		return err
	}
	if err := s.Until(within, "PostgreSQL", func(ctx context.Context) error {
		return s.Finish(ctx, servers.Command{Program: programs["psql"], Args: []string{s.database.uri(), "-c", "SELECT 1"}})
	}); err != nil {
		return err
	}
	return s.Finish(within, servers.Command{Program: programs["psql"], Args: []string{s.database.uri(), "-q", "-v", "ON_ERROR_STOP=1",
		"-f", filepath.Join(trillian, "storage", "postgresql", "schema", "storage.sql")}})
}

// postgresProgram finds one of PostgreSQL's programs. Debian installs those of each version in a
// folder of their own, and few of them on the path.
func postgresProgram(name string) (string, error) {
	if found, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name); err == nil && len(found) > 0 {
		return slices.Max(found), nil
	}
	found, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("find PostgreSQL: %w (apt-get install postgresql)", err)
	}
	return found, nil
}

// nobody returns an account without permissions: PostgreSQL's own if it exists.
func nobody() (*servers.Account, error) {
	found, err := user.Lookup("postgres")
	if err != nil {
		if found, err = user.Lookup("nobody"); err != nil {
			return nil, err
		}
	}
	uid, err := strconv.ParseUint(found.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(found.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &servers.Account{UID: uint32(uid), GID: uint32(gid)}, nil
}

package sigstore

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/polex-dev/polex/test/e2e/servers"
)

// starting is the timeout for the start of all servers.
const starting = 3 * time.Minute

// Options has the folders and the OIDC issuers for Fulcio.
type Options struct {
	Binaries  string   // folder with the programs
	Tools     string   // folder of the module with their versions
	Dir       string   // an empty folder for data and logs
	Workflows []string // issuers of GitHub's tokens; already running
	People    string   // an issuer of tokens with a mail address, already running; "" for none
}

// Sigstore is a running Sigstore. The addresses have no trailing slash.
type Sigstore struct {
	*servers.Group

	FulcioURL       string
	RekorURL        string
	RekorV2URL      string
	TimestampURL    string // with its path
	CTLogURL        string // with its prefix
	TrustedRootPath string
	FulcioChainPath string // PEM: intermediate, root
	RekorKeyPath    string // PEM
	RekorV2KeyPath  string // PEM
	CTLogKeyPath    string // PEM

	options  Options
	database *database
	taken    net.Listener // of a port that no server may use; may be nil
	trillian string       // address of its log server
	fulcio   *authority
	ctLog    *logKey
	rekor    *logKey
	rekorV2  *logKey
}

// Start starts everything, and returns when all servers answer. The processes stop with Close or
// with the context.
func Start(ctx context.Context, options Options) (*Sigstore, error) {
	s := &Sigstore{options: options, Group: &servers.Group{Binaries: options.Binaries, Dir: options.Dir},
		TrustedRootPath: filepath.Join(options.Dir, "trusted_root.json"),
		FulcioChainPath: filepath.Join(options.Dir, "fulcio.pem"),
		RekorKeyPath:    filepath.Join(options.Dir, "rekor.pub"),
		RekorV2KeyPath:  filepath.Join(options.Dir, "rekorv2.pub"),
		CTLogKeyPath:    filepath.Join(options.Dir, "ctlog.pub"),
	}
	if err := s.Steps(ctx, starting, s.makeKeys, s.startDatabase, s.startTrillian, s.startCTLog, s.startFulcio,
		s.startRekor, s.startRekorV2, s.startTimestamps, s.writeTrustedRoot); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Close stops every process, the last one first, and removes the database.
func (s *Sigstore) Close() error {
	s.Stop()
	if s.taken != nil {
		_ = s.taken.Close() // nobody was to be heard on it
	}
	return s.database.remove()
}

// at returns a path in the folder.
func (s *Sigstore) at(name string) string { return filepath.Join(s.options.Dir, name) }

func (s *Sigstore) write(name string, raw []byte) error {
	return os.WriteFile(s.at(name), raw, 0o600)
}

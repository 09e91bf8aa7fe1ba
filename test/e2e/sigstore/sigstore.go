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

// starting is how long all servers may take until they are ready.
const starting = 3 * time.Minute

// Options say where the programs are, and whom Fulcio believes.
type Options struct {
	Binaries  string   // folder that holds the programs
	Tools     string   // folder of the module that pins them
	Dir       string   // for data and logs; an empty one
	Workflows []string // issuers of GitHub's tokens; they answer already
	People    string   // an issuer of tokens with an address; it answers already
}

// Sigstore is a running one. The addresses have no trailing slash.
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
	taken    net.Listener // of a port that nobody is to listen on; may be nil
	trillian string       // address of its log server
	fulcio   *authority
	ctLog    *logKey
	rekor    *logKey
	rekorV2  *logKey
}

// Start runs everything, and returns once all of it answers. The processes end
// with Close or with the context.
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

// Close ends every process, the last one first, and removes the database.
func (s *Sigstore) Close() error {
	s.Stop()
	if s.taken != nil {
		_ = s.taken.Close() // nobody was to be heard on it
	}
	return s.database.remove()
}

// at is a path in the folder.
func (s *Sigstore) at(name string) string { return filepath.Join(s.options.Dir, name) }

func (s *Sigstore) write(name string, raw []byte) error {
	return os.WriteFile(s.at(name), raw, 0o600)
}

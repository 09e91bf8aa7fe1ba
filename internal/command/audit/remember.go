package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/ledger"
)

// maxSteps is the maximum size of the cache of steps, in bytes.
const maxSteps = 512 << 20

// memory is the cache: the steps of the history, and the last commit of the previous report. It is
// in the user's cache folder, not in the repository, because others can write to the repository.
type memory struct {
	steps               *ledger.Steps // nil without a cache
	seen                plumbing.Hash
	stepsPath, seenPath string
}

// remember reads the cache for a repository and a reference. Unreadable steps are computed again.
// An unreadable last commit is an error, because nothing can compute it again.
func (o *options) remember(ref, signed, unsigned string) (*memory, error) {
	if o.noCache {
		return &memory{}, nil
	}
	dir := o.cacheDir
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			// Without a home directory there is no place for the cache.
			return &memory{}, nil //nolint:nilerr // the report is right without it
		}
		dir = filepath.Join(cache, "polex", "audit")
	}
	repository, err := filepath.Abs(o.git)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", o.git, err)
	}
	m := &memory{
		stepsPath: filepath.Join(dir, "steps-"+keyOf(repository, signed, unsigned)+".json"),
		seenPath:  filepath.Join(dir, "seen-"+keyOf(repository, ref, signed)),
	}
	raw, err := cli.ReadFileUpTo(m.stepsPath, maxSteps)
	if err == nil {
		m.steps, err = ledger.ReadSteps(raw, signed, unsigned)
	}
	if err != nil {
		m.steps = ledger.NewSteps(signed, unsigned)
	}
	text, err := cli.ReadFile(m.seenPath)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	hash := strings.TrimSpace(string(text))
	if err == nil && !plumbing.IsHash(hash) {
		err = fmt.Errorf("%s does not contain a hash", m.seenPath)
	}
	if err != nil {
		return nil, cli.Hint(fmt.Errorf("read the last commit of the earlier report: %w", err), "if the cause is unknown, remove that file; this run then cannot detect a rewritten history")
	}
	m.seen = plumbing.NewHash(hash)
	return m, nil
}

// save writes the new data. With a zero tip it keeps the stored last commit.
func (m *memory) save(tip plumbing.Hash) error {
	if m.steps == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(m.stepsPath), 0o700); err != nil {
		return err
	}
	if m.steps.Grown() {
		raw, err := m.steps.Marshal()
		if err != nil {
			return err
		}
		if len(raw) <= maxSteps {
			if err := cli.WriteFile(m.stepsPath, raw); err != nil {
				return err
			}
		}
	}
	if tip.IsZero() || tip == m.seen {
		return nil
	}
	return cli.WriteFile(m.seenPath, []byte(tip.String()+"\n"))
}

func keyOf(parts ...string) string {
	digest := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(digest[:16])
}

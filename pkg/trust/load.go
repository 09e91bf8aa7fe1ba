package trust

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/trust/policyfile"
)

// FromFile makes a policy from a file of kind TrustPolicy, or from the section trust of a
// configuration (.polex.yaml), and from the files that it names. The file has at most
// [exception.MaxDocument] bytes. Errors are those of [Read] and [Load].
func FromFile(path string) (*Policy, error) {
	raw, err := readBounded(path)
	if err != nil {
		return nil, fmt.Errorf("read trust policy: %w", err)
	}
	doc, err := exception.ParseUndeployed(raw, path)
	if err != nil {
		return nil, err
	}
	c, err := Read(doc, filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	return Load(c)
}

// Load makes the policy of a configuration. It reads the trusted root and the keys that the
// configuration names, of at most 4 MiB each. No other function reads these files, except
// [LoadRoot].
func Load(c Config) (*Policy, error) {
	c.Authorities = slices.Clone(c.Authorities)
	for i := range c.Authorities {
		a := &c.Authorities[i]
		switch err := readInto(&a.Key, &a.KeyFile); {
		case err != nil && strings.HasPrefix(a.Source, "--"): // a flag
			return nil, fmt.Errorf("%s: %w", a.Source, err)
		case err != nil:
			return nil, fmt.Errorf("%s: keyFile: %w", a.Called(i), err)
		}
	}
	root, err := LoadRoot(c.TrustedRoot)
	if err != nil {
		return nil, err
	}
	return New(c, root)
}

// readInto replaces a path by the content of the file. [New] rejects an authority that has both.
func readInto(text, path *string) error {
	if *path == "" || *text != "" {
		return nil
	}
	raw, err := readBounded(*path)
	if err != nil {
		return err
	}
	if len(raw) == 0 {
		// An empty key would make the authority a keyless one.
		return fmt.Errorf("%s is empty", *path)
	}
	*text, *path = string(raw), ""
	return nil
}

const maxFile = 4 << 20 // bytes of a trusted root or a key

func readBounded(path string) ([]byte, error) {
	f, err := os.Open(path) // #nosec G304 -- the policy, which is trusted, names it
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	raw, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(raw) > maxFile {
		return nil, fmt.Errorf("%s is larger than %d MiB", path, maxFile>>20)
	}
	return raw, nil
}

// MaxBindingValidity is the maximum validity of a certificate that binds the signing time. Anybody
// can get a new log entry or timestamp for an old signature, and remove the older evidence. But the
// proven time must lie within the certificate's validity, so a short validity limits the change.
// A certificate of the public-good Fulcio is valid for ten minutes; a private one may issue longer
// ones.
const MaxBindingValidity = 24 * time.Hour

// BindsTime reports whether a certificate with this validity binds the signing time, see
// [MaxBindingValidity].
func BindsTime(notBefore, notAfter time.Time) bool {
	return notAfter.Sub(notBefore) <= MaxBindingValidity
}

// The parts of a written trust policy.
type (
	// Config is [policyfile.Config].
	Config = policyfile.Config
	// AuthorityConfig is [policyfile.AuthorityConfig].
	AuthorityConfig = policyfile.AuthorityConfig
	// GitHubConfig is [policyfile.GitHubConfig].
	GitHubConfig = policyfile.GitHubConfig
	// Values is [policyfile.Values].
	Values = policyfile.Values
	// Numbers is [policyfile.Numbers].
	Numbers = policyfile.Numbers
	// Selectors is [policyfile.Selectors].
	Selectors = policyfile.Selectors
	// RenewalsConfig is [policyfile.RenewalsConfig].
	RenewalsConfig = policyfile.RenewalsConfig
	// GroupConfig is [policyfile.GroupConfig].
	GroupConfig = policyfile.GroupConfig
	// LifetimeConfig is [policyfile.LifetimeConfig].
	LifetimeConfig = policyfile.LifetimeConfig
	// RevocationConfig is [policyfile.RevocationConfig].
	RevocationConfig = policyfile.RevocationConfig
	// ExpiryConfig is [policyfile.ExpiryConfig].
	ExpiryConfig = policyfile.ExpiryConfig
	// Grandfather is [policyfile.Grandfather].
	Grandfather = policyfile.Grandfather
	// AllowedMetadata is [policyfile.AllowedMetadata].
	AllowedMetadata = policyfile.AllowedMetadata
	// Kinds is [policyfile.Kinds].
	Kinds = policyfile.Kinds
)

// MaxSigners is [policyfile.MaxSigners].
const MaxSigners = policyfile.MaxSigners

// Read is [policyfile.Read].
func Read(doc *exception.Document, dir string) (Config, error) { return policyfile.Read(doc, dir) }

// NewKinds is [policyfile.NewKinds].
func NewKinds(kinds []string) (Kinds, error) { return policyfile.NewKinds(kinds) }

// CheckAdded is [policyfile.CheckAdded].
func CheckAdded(field, key, value string) error { return policyfile.CheckAdded(field, key, value) }

// WriterOf is [policyfile.WriterOf].
func WriterOf(key, value string) string { return policyfile.WriterOf(key, value) }

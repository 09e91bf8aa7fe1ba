package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/polex-dev/polex/pkg/exception"
)

// ConfigName is the configuration's name at a repository's root.
const ConfigName = ".polex.yaml"

const maxConfig = exception.MaxDocument

// Config is a configuration file. Its sections are read by those who know them.
type Config struct {
	// Dir is the folder that relative paths in it are relative to.
	Dir string
	doc *exception.Document
}

// Directories is the section that says where exceptions are.
type Directories struct {
	Unsigned string `json:"unsigned"`
	Signed   string `json:"signed"`
	Policies string `json:"policies"` // the Kyverno policies that exceptions are from
}

// Sigstore is the section that says which Sigstore signs.
type Sigstore struct {
	FulcioURL    string `json:"fulcioURL"`
	RekorURL     string `json:"rekorURL"`
	RekorVersion int    `json:"rekorVersion"`
	TimestampURL string `json:"timestampURL"`
	BundleFormat string `json:"bundleFormat"`
	OIDCIssuer   string `json:"oidcIssuer"`
	OIDCClientID string `json:"oidcClientID"`
}

// sections are the keys that a configuration may have.
type sections struct {
	APIVersion  string `json:"apiVersion"`
	Kind        string `json:"kind"`
	Directories any    `json:"directories"`
	Shape       any    `json:"shape"`
	Sigstore    any    `json:"sigstore"`
	Trust       any    `json:"trust"`
}

// LoadConfig reads the configuration at path. An empty path is an empty
// configuration. What cannot be read or understood is a [UsageError].
func LoadConfig(path string) (*Config, error) {
	if path == "" {
		doc, err := exception.FromObject(map[string]any{})
		return &Config{doc: doc}, err
	}
	raw, err := readBounded(path, maxConfig)
	if err != nil {
		return nil, &UsageError{Err: fmt.Errorf("read configuration: %w", err)}
	}
	doc, err := exception.Parse(raw, path)
	if err != nil {
		return nil, usage(err)
	}
	var known sections
	if err := doc.Decode(&known); err != nil {
		return nil, usage(err)
	}
	if known.APIVersion != "polex.dev/v1alpha1" || known.Kind != "Config" {
		return nil, &UsageError{Err: fmt.Errorf("%s: not a polex configuration: apiVersion is %q, kind is %q", path, known.APIVersion, known.Kind),
			Hint: "begin it with apiVersion: polex.dev/v1alpha1 and kind: Config"}
	}
	return &Config{Dir: filepath.Dir(path), doc: doc}, nil
}

// LoadRepositoryConfig reads the configuration at path or, when the path is
// empty, the one of the repository that the working directory lies in. It is for
// commands that do not judge what the repository holds.
func LoadRepositoryConfig(path string) (*Config, error) {
	if path == "" {
		found, err := findConfig(".")
		if err != nil {
			return nil, &UsageError{Err: err}
		}
		path = found
	}
	return LoadConfig(path)
}

// findConfig returns the .polex.yaml at the root of the Git repository that dir
// lies in, or "" when there is none. A file that lies anywhere else is never
// taken up on its own account: it might be anybody's.
func findConfig(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find %s: %w", ConfigName, err)
	}
	for {
		isRoot, err := exists(filepath.Join(dir, ".git"))
		if err != nil {
			return "", fmt.Errorf("find %s: %w", ConfigName, err)
		}
		if isRoot {
			break
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", nil
		}
		dir = parent
	}
	path := filepath.Join(dir, ConfigName)
	if there, err := exists(path); err != nil || !there {
		return "", err
	}
	return path, nil
}

func exists(path string) (bool, error) {
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Section fills into from the section called name.
func (c *Config) Section(name string, into any) error {
	if err := c.doc.Decode(into, name); err != nil {
		return usage(err)
	}
	return nil
}

// Has reports whether the configuration has a section called name.
func (c *Config) Has(name string) bool {
	_, ok := c.doc.Lookup(name)
	return ok
}

// Document returns the configuration as it was written.
func (c *Config) Document() *exception.Document { return c.doc }

func usage(err error) error {
	var syntax *exception.SyntaxError
	if errors.As(err, &syntax) {
		return &UsageError{Err: err, Hint: syntax.Hint}
	}
	return &UsageError{Err: err}
}

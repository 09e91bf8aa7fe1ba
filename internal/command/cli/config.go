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

// Lifetime is the section that says how the end of an exception is written.
type Lifetime struct {
	TTLLabel bool `json:"ttlLabel"` // Kyverno's label too, on exceptions of kyverno.io
}

// Promote is the section that says how what waits is promoted.
type Promote struct {
	Updates string `json:"updates"` // refuse or replace
	Review
}

// Review is the part of [Promote] that says what is recorded of the review of
// what is signed, and what is asked of it.
type Review struct {
	Record              string `json:"record"` // auto, none, api, event or trailers
	RequireApprovals    int    `json:"requireApprovals"`
	RequireCodeOwners   bool   `json:"requireCodeOwners"`
	AllowStaleApprovals bool   `json:"allowStaleApprovals"`
	ApprovalsFrom       string `json:"approvalsFrom"` // api or trailers

	Renewals RenewalReview `json:"renewals"`
}

// The settings of [Review.Record] that name no source.
const (
	RecordAuto = "auto" // the best that the environment shows; the default
	RecordNone = "none"
)

// RenewalReview is what is asked of the review of an exception that renews another,
// besides.
type RenewalReview struct {
	RequireApprovals   int  `json:"requireApprovals"`
	RequireNewApprover bool `json:"requireNewApprover"` // one who did not approve the predecessor
}

// AsksApprovals reports whether anything asks for approvals.
func (r Review) AsksApprovals() bool {
	return r.RequireApprovals > 0 || r.RequireCodeOwners || r.Renewals != RenewalReview{}
}

// sections are the keys that a configuration may have.
type sections struct {
	APIVersion  string `json:"apiVersion"`
	Kind        string `json:"kind"`
	Directories any    `json:"directories"`
	Lifetime    any    `json:"lifetime"`
	Promote     any    `json:"promote"`
	Shape       any    `json:"shape"`
	Sigstore    any    `json:"sigstore"`
	Trust       any    `json:"trust"`
	Guard       any    `json:"guard"`
}

const (
	apiVersion   = "polex.dev/v1alpha1"
	configKind   = "Config"
	trustPolicy  = "TrustPolicy"
	trustSection = "trust"
)

// LoadConfig reads the configuration at path, or a trust policy, which is one
// without sections. An empty path is an empty configuration. What cannot be read
// or understood is a [UsageError].
func LoadConfig(path string) (*Config, error) {
	if path == "" {
		doc, err := exception.FromObject(map[string]any{"apiVersion": apiVersion, "kind": configKind})
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
	kind := doc.Text("kind")
	if doc.APIVersion() != apiVersion || kind != configKind && kind != trustPolicy {
		return nil, &UsageError{Err: fmt.Errorf("%s: not a polex configuration: apiVersion is %q, kind is %q", path, doc.APIVersion(), kind),
			Hint: "begin it with apiVersion: " + apiVersion + " and kind: " + configKind + ", or " + trustPolicy}
	}
	if kind == trustPolicy {
		if err := checkNoSections(doc); err != nil {
			return nil, err
		}
		return &Config{Dir: filepath.Dir(path), doc: doc}, nil
	}
	if err := doc.Decode(&sections{}); err != nil {
		return nil, usage(err)
	}
	return &Config{Dir: filepath.Dir(path), doc: doc}, nil
}

// checkNoSections refuses a trust policy with a section of a configuration: a
// command that reads that section would pass it over without a word.
func checkNoSections(doc *exception.Document) error {
	for _, section := range []string{"directories", "guard", "promote", "shape", "sigstore", trustSection} {
		if _, there := doc.Lookup(section); there {
			return usage(&exception.SyntaxError{Position: doc.PositionOf(exception.Path{section}),
				Message: "a " + trustPolicy + " has no section called " + section,
				Hint:    "write a file of kind: " + configKind + ", whose section " + trustSection + " holds the trust policy"})
		}
	}
	return nil
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
	root, err := RepositoryRoot(dir)
	if err != nil || root == "" {
		return "", err
	}
	path := filepath.Join(root, ConfigName)
	if there, err := exists(path); err != nil || !there {
		return "", err
	}
	return path, nil
}

// PathIn returns a path as it is from the root of a repository, with slashes, or false
// where it does not lie in there. Only its last part may be a link.
func PathIn(root, path string) (string, bool) {
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		return "", false
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", false
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(absolute))
	if err != nil {
		return "", false
	}
	name, err := filepath.Rel(root, filepath.Join(folder, filepath.Base(absolute)))
	return filepath.ToSlash(name), err == nil && (name == "." || filepath.IsLocal(name))
}

// RepositoryRoot returns the root of the Git repository that dir lies in, or "" when
// it lies in none.
func RepositoryRoot(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find the repository: %w", err)
	}
	for {
		isRoot, err := exists(filepath.Join(dir, ".git"))
		if err != nil {
			return "", fmt.Errorf("find the repository: %w", err)
		}
		if isRoot {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", nil
		}
		dir = parent
	}
}

func exists(path string) (bool, error) {
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Section fills into from the section called name. A trust policy has none.
func (c *Config) Section(name string, into any) error {
	if c.doc.Text("kind") == trustPolicy {
		return nil
	}
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

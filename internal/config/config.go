package config

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/trust/policyfile"
)

// Name is the name of the configuration at the root of a repository.
const Name = ".polex.yaml"

const (
	apiVersion  = "polex.dev/v1alpha1"
	kind        = "Config"
	trustPolicy = "TrustPolicy"
)

// Config is a configuration file.
type Config struct {
	// Dir is the folder that relative paths in the file start from.
	Dir string

	Directories Directories
	Lifetime    Lifetime
	Statements  Statements
	Promote     Promote
	Sigstore    Sigstore
	Guard       Guard

	doc *exception.Document
}

// PolicyPaths returns the paths of the Kyverno policies: those of a flag, or else the configured folder.
func (c *Config) PolicyPaths(paths []string) []string {
	if len(paths) == 0 && c.Directories.Policies != "" {
		return []string{filepath.Join(c.Dir, filepath.FromSlash(c.Directories.Policies))}
	}
	return paths
}

// Load reads the configuration at path, or a trust policy, which has no sections. An empty path
// gives an empty configuration. A file larger than [exception.MaxDocument] bytes is an error. An
// unknown key, and a missing value or one with the wrong type or range, is a
// *[exception.SyntaxError] with its position.
func Load(path string) (*Config, error) {
	if path == "" {
		doc, err := exception.FromObject(map[string]any{"apiVersion": apiVersion, "kind": kind})
		return &Config{doc: doc}, err
	}
	raw, err := readFile(path)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	doc, err := exception.ParseUndeployed(raw, path)
	if err != nil {
		return nil, err
	}
	c := &Config{Dir: filepath.Dir(path), doc: doc}
	if doc.APIVersion() != apiVersion || !c.isTrustPolicy() && doc.Text("kind") != kind {
		return nil, &exception.SyntaxError{Position: doc.Position(),
			Message: fmt.Sprintf("not a polex configuration: apiVersion is %q, kind is %q", doc.APIVersion(),
				doc.Text("kind")),
			Hint: "begin it with apiVersion: " + apiVersion + " and kind: " + kind + ", or " + trustPolicy}
	}
	if c.isTrustPolicy() {
		return c, checkNoSections(doc)
	}
	var whole file
	if err := decode(doc, &whole); err != nil {
		return nil, err
	}
	c.Directories, c.Statements, c.Lifetime = whole.Directories, whole.Statements, whole.Lifetime
	c.Promote, c.Sigstore, c.Guard = whole.Promote, whole.Sigstore, whole.Guard
	for key, folder := range map[string]string{"unsigned": c.Directories.Unsigned, "signed": c.Directories.Signed} {
		if folder != "" && !filepath.IsLocal(filepath.FromSlash(folder)) {
			return nil, &exception.SyntaxError{Position: doc.PositionOf(exception.Path{"directories", key}),
				Message: fmt.Sprintf("directories.%s is %q, expected a folder in the repository", key, folder),
				Hint:    "write it from the root of the repository, such as " + key}
		}
	}
	if c.Promote.ApprovalsFrom == RecordTrailers && c.Promote.Record != RecordTrailers {
		return nil, &exception.SyntaxError{Position: doc.PositionOf(exception.Path{"promote", "approvalsFrom"}),
			Message: "promote.approvalsFrom: trailers requires promote.record: trailers",
			Hint:    "add record: trailers, or remove approvalsFrom"}
	}
	return c, c.checkSigned()
}

// checkSigned rejects a statement key that the trust policy allows in unsigned metadata: nobody
// would review such a statement.
func (c *Config) checkSigned() error {
	for _, key := range c.Statements.All() {
		for _, field := range []string{"labels", "annotations"} {
			path := exception.Path{"trust", "allowedMetadata", field, key}
			if _, allowed := c.doc.Lookup(path...); allowed {
				return &exception.SyntaxError{Position: c.doc.PositionOf(path),
					Message: fmt.Sprintf("%s: the section statements lists this key, so it has to be signed", path),
					Hint:    "remove the key from allowedMetadata, or from statements"}
			}
		}
	}
	return nil
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path) // #nosec G304 -- the user names the file
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s is a folder: name the file in it", path)
	}
	raw, err := io.ReadAll(io.LimitReader(f, exception.MaxDocument+1))
	if err == nil && len(raw) > exception.MaxDocument {
		err = fmt.Errorf("%s is larger than %d KiB", path, exception.MaxDocument>>10)
	}
	return raw, err
}

func (c *Config) isTrustPolicy() bool { return c.doc.Text("kind") == trustPolicy }

// checkNoSections rejects a trust policy with a section of a configuration, because commands would
// silently ignore that section.
func checkNoSections(doc *exception.Document) error {
	for field := range reflect.TypeFor[file]().Fields() {
		section := field.Tag.Get("json")
		if _, there := doc.Lookup(section); there && field.Tag.Get("doc") != "" {
			return &exception.SyntaxError{Position: doc.PositionOf(exception.Path{section}),
				Message: "a " + trustPolicy + " has no section called " + section,
				Hint:    "write a file of kind: " + kind + ", whose section trust holds the trust policy"}
		}
	}
	return nil
}

// Section decodes a section of another package into into, with the errors of [Load]. A trust policy
// has no sections.
func (c *Config) Section(name string, into any) error {
	if c.isTrustPolicy() {
		return nil
	}
	return decode(c.doc, into, name)
}

// Trust checks the trust policy of the configuration, without its trusted root and the content of its
// keys. The error is that of [policyfile.Read] or [policyfile.Check].
func (c *Config) Trust() (policyfile.Config, policyfile.Rules, error) {
	written, err := policyfile.Read(c.doc, c.Dir)
	if err != nil {
		return policyfile.Config{}, policyfile.Rules{}, err
	}
	rules, err := policyfile.Check(written)
	return written, rules, err
}

// Document returns the configuration in its written form.
func (c *Config) Document() *exception.Document { return c.doc }

func decode(doc *exception.Document, into any, path ...any) error {
	value, there := doc.Lookup(path...)
	if !there {
		return nil
	}
	if err := doc.Decode(into, path...); err != nil {
		return err
	}
	return checkValue(doc, path, value, reflect.TypeOf(into).Elem(), "")
}

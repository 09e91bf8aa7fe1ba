package trust

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/polex-dev/polex/pkg/exception"
)

// FromFile makes a policy from a file of kind TrustPolicy, or from the section trust of a
// configuration (.polex.yaml), and from the files that it names. The file has at most
// [exception.MaxDocument] bytes. Errors are those of [Read] and [Load].
func FromFile(path string) (*Policy, error) {
	raw, err := readBounded(path)
	if err != nil {
		return nil, fmt.Errorf("read trust policy: %w", err)
	}
	doc, err := exception.Parse(raw, path)
	if err != nil {
		return nil, err
	}
	c, err := Read(doc, filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	return Load(c)
}

// Read reads a policy from a parsed document: of kind TrustPolicy, or from the section trust of the
// kind Config. Relative paths in it become relative to dir. An unknown key or an empty value is a
// *[exception.SyntaxError] with its position: its author may have wanted to forbid something with
// it.
func Read(doc *exception.Document, dir string) (Config, error) {
	var path exception.Path
	if doc.Text("kind") == configKind {
		path = exception.Path{"trust"}
	}
	c, err := decode(doc, path)
	if err != nil {
		return Config{}, err
	}
	if err := checkSaid(doc, path); err != nil {
		return Config{}, err
	}
	relative(dir, &c.TrustedRoot)
	c.Source = doc.Position().File
	for i := range c.Authorities {
		c.Authorities[i].Source = doc.PositionOf(path.With("authorities").With(i)).String() + ": " + c.Authorities[i].called(i)
		relative(dir, &c.Authorities[i].KeyFile)
		relative(dir, &c.Authorities[i].CertificateAuthorityFile)
	}
	return c, nil
}

func decode(doc *exception.Document, path exception.Path) (Config, error) {
	if kind := doc.Text("kind"); doc.APIVersion() != apiVersion || kind != policyKind && kind != configKind {
		return Config{}, &exception.SyntaxError{Position: doc.Position(),
			Message: fmt.Sprintf("this is not a trust policy: apiVersion is %q, kind is %q", doc.APIVersion(), kind),
			Hint:    "begin it with apiVersion: " + apiVersion + " and kind: " + policyKind}
	}
	if len(path) > 0 {
		var c Config
		err := doc.Decode(&c, path...)
		return c, err
	}
	var whole struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Config
	}
	err := doc.Decode(&whole)
	return whole.Config, err
}

// checkSaid rejects empty values. Otherwise maxLifetime: "" would set no maximum, trustedRoot: ""
// would be the public-good root, and kinds: [] the default. The policy itself may be empty; then it
// has no authority.
func checkSaid(doc *exception.Document, path exception.Path) error {
	value, _ := doc.Lookup(path...)
	tree, ok := value.(map[string]any)
	if !ok {
		return nil
	}
	for _, key := range sortedKeys(tree) {
		if err := said(doc, path.With(key), tree[key]); err != nil {
			return err
		}
	}
	return nil
}

func said(doc *exception.Document, path exception.Path, value any) error {
	empty := false
	switch v := value.(type) {
	case nil:
		empty = true
	case string:
		empty = v == ""
	case int64:
		empty = v == 0
	case []any:
		empty = len(v) == 0
		for i, item := range v {
			if err := said(doc, path.With(i), item); err != nil {
				return err
			}
		}
	case map[string]any:
		empty = len(v) == 0
		for _, key := range sortedKeys(v) {
			if err := said(doc, path.With(key), v[key]); err != nil {
				return err
			}
		}
	}
	if !empty {
		return nil
	}
	return &exception.SyntaxError{Position: doc.PositionOf(path), Message: path.String() + " is empty", Hint: "remove it, or give a value"}
}

func sortedKeys[V any](tree map[string]V) []string { return slices.Sorted(maps.Keys(tree)) }

func relative(dir string, path *string) {
	if *path != "" && !filepath.IsAbs(*path) {
		*path = filepath.Join(dir, *path)
	}
}

// Load makes the policy of a configuration. It reads the trusted root, the keys and the certificate
// authorities that the configuration names, of at most 4 MiB each. No other function reads these
// files, except [LoadRoot].
func Load(c Config) (*Policy, error) {
	c.Authorities = slices.Clone(c.Authorities)
	for i := range c.Authorities {
		a := &c.Authorities[i]
		err := readInto(&a.Key, &a.KeyFile, "key")
		if err == nil {
			err = readInto(&a.CertificateAuthority, &a.CertificateAuthorityFile, "certificateAuthority")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.called(i), err)
		}
	}
	root, err := LoadRoot(c.TrustedRoot)
	if err != nil {
		return nil, err
	}
	return New(c, root)
}

// readInto replaces a path by the content of the file.
func readInto(text, path *string, what string) error {
	if *path == "" {
		return nil
	}
	if *text != "" {
		return fmt.Errorf("%s and %sFile are both set", what, what)
	}
	raw, err := readBounded(*path)
	if err != nil {
		return fmt.Errorf("read %s: %w", what, err)
	}
	if len(raw) == 0 {
		// An empty key would make the authority a keyless one.
		return fmt.Errorf("%s: %s is empty", what, *path)
	}
	*text, *path = string(raw), ""
	return nil
}

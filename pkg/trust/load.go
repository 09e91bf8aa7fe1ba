package trust

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/polex-dev/polex/pkg/exception"
)

// FromFile makes the policy of a file of kind TrustPolicy, or of the section trust of
// a configuration (.polex.yaml). It reads at most [exception.MaxDocument] bytes, and
// the files that the policy names. Errors are those of [Read] and [Load].
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

// Read takes a policy from a document that is already parsed: of kind TrustPolicy, or
// of kind Config, where it is the section trust. Relative paths in it become relative
// to dir. A key that a trust policy does not know, and a value that says nothing, is a
// *[exception.SyntaxError] at its place: either might have been meant to forbid
// something.
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
	for i := range c.Authorities {
		relative(dir, &c.Authorities[i].KeyFile)
		relative(dir, &c.Authorities[i].CertificateAuthorityFile)
	}
	return c, nil
}

func decode(doc *exception.Document, path exception.Path) (Config, error) {
	if kind := doc.Text("kind"); doc.APIVersion() != apiVersion || kind != policyKind && kind != configKind {
		return Config{}, &exception.SyntaxError{Position: doc.Position(),
			Message: fmt.Sprintf("this is no trust policy: apiVersion is %q, kind is %q", doc.APIVersion(), kind),
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

// checkSaid refuses values that say nothing: without this, maxLifetime: "" would
// be no maximum, trustedRoot: "" the public-good root, and kinds: [] the default.
// The policy itself may be empty; it then names nobody.
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
	return &exception.SyntaxError{Position: doc.PositionOf(path), Message: path.String() + " says nothing", Hint: "remove it, or give a value"}
}

func sortedKeys[V any](tree map[string]V) []string { return slices.Sorted(maps.Keys(tree)) }

func relative(dir string, path *string) {
	if *path != "" && !filepath.IsAbs(*path) {
		*path = filepath.Join(dir, *path)
	}
}

// Load makes the policy that a configuration describes, with the trusted root,
// the keys and the certificate authorities that it names. What it names is read
// here and nowhere else.
func Load(c Config) (*Policy, error) {
	c.Authorities = slices.Clone(c.Authorities)
	for i := range c.Authorities {
		a := &c.Authorities[i]
		err := readInto(&a.Key, &a.KeyFile, "key")
		if err == nil {
			err = readInto(&a.CertificateAuthority, &a.CertificateAuthorityFile, "certificateAuthority")
		}
		if err != nil {
			return nil, fmt.Errorf("authority %d %s: %w", i+1, a.Name, err)
		}
	}
	root, err := LoadRoot(c.TrustedRoot)
	if err != nil {
		return nil, err
	}
	return New(c, root)
}

// readInto replaces a path by what the file holds.
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
		// Without it, the authority would be taken for a keyless one.
		return fmt.Errorf("%s: %s is empty", what, *path)
	}
	*text, *path = string(raw), ""
	return nil
}

package policyfile

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/polex-dev/polex/pkg/exception"
)

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
	if err := checkEmpty(doc, path, path); err != nil {
		return Config{}, err
	}
	relative(dir, &c.TrustedRoot)
	c.Source = doc.Position().File
	c.Locate = func(at ...any) exception.Position { return doc.PositionOf(slices.Concat(path, at)) }
	for i := range c.Authorities {
		c.Authorities[i].Source = c.Locate("authorities", i).String() + ": " + c.Authorities[i].Called(i)
		relative(dir, &c.Authorities[i].KeyFile)
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

// checkEmpty rejects empty values. Otherwise maxLifetime: "" would set no maximum, trustedRoot: ""
// would be the public-good root, and kinds: [] the default. The policy itself, at root, may be
// empty; then it has no authority.
func checkEmpty(doc *exception.Document, root, path exception.Path) error {
	value, exists := doc.Lookup(path...)
	empty := false
	var below []any
	switch v := value.(type) {
	case nil:
		empty = true
	case string:
		empty = v == ""
	case int64:
		empty = v == 0
	case []any:
		empty = len(v) == 0
		for i := range v {
			below = append(below, i)
		}
	case map[string]any:
		empty = len(v) == 0
		for _, key := range sortedKeys(v) {
			below = append(below, key)
		}
	}
	if empty && exists && len(path) > len(root) {
		return &exception.SyntaxError{Position: doc.PositionOf(path),
			Message: path.String() + " is empty", Hint: "remove it, or give a value"}
	}
	for _, step := range below {
		if err := checkEmpty(doc, root, path.With(step)); err != nil {
			return err
		}
	}
	return nil
}

func sortedKeys[V any](tree map[string]V) []string { return slices.Sorted(maps.Keys(tree)) }

func relative(dir string, path *string) {
	if *path != "" && !filepath.IsAbs(*path) {
		*path = filepath.Join(dir, *path)
	}
}

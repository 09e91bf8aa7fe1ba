package kyverno

import (
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/polex-dev/polex/test/must"
)

// TestOwnObjects compares the names of the guard's objects with policies/guard.
func TestOwnObjects(t *testing.T) {
	name := regexp.MustCompile(`\b(?:name|secretName): (polex-guard[a-z-]*)`)
	var delivered []string
	root := os.DirFS("../../policies/guard")
	must.Do(t, fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".yaml") {
			return err
		}
		text, err := fs.ReadFile(root, path)
		for _, found := range name.FindAllStringSubmatch(string(text), -1) {
			delivered = append(delivered, found[1])
		}
		return err
	}))
	slices.Sort(delivered)
	if delivered = slices.Compact(delivered); !slices.Equal(delivered, ownObjects) {
		t.Errorf("policies/guard has %q, and %q are guarded", delivered, ownObjects)
	}
}

package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/pkg/trust/publicgood"
)

// day is the time of the fetch in these tests.
var day = time.Date(2031, 2, 3, 23, 0, 0, 0, time.FixedZone("west", -4*3600))

// copied returns a folder with copies of the three files.
func copied(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("..")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestUpdateWritesWhatIsNew(t *testing.T) {
	dir := copied(t)
	// The same root with other bytes is new: the digest is over the bytes.
	fresh := append(publicgood.TrustedRootJSON(), '\n')
	changed, err := update(dir, fetched{json: fresh, source: `a "quoted" $1 source`, at: day})
	if err != nil || !changed {
		t.Fatalf("update: changed %v, error %v", changed, err)
	}
	if got := read(t, dir, "trusted_root.json"); got != string(fresh) {
		t.Error("trusted_root.json is not what was fetched")
	}
	for name, want := range map[string][]string{
		"SOURCE.md":     {"\n- from: a \"quoted\" $1 source\n", "\n- date: 2031-02-04\n"},
		"publicgood.go": {"\nconst Source = \"a \\\"quoted\\\" $1 source\"\n", "\nconst Date = \"2031-02-04\"\n"},
	} {
		for _, line := range want {
			if got := read(t, dir, name); strings.Count(got, line) != 1 {
				t.Errorf("%s lacks %q:\n%s", name, line, got)
			}
		}
	}
	if line := fmt.Sprintf("\n- sha256: %x\n", sha256.Sum256(fresh)); !strings.Contains(read(t, dir, "SOURCE.md"), line) {
		t.Errorf("SOURCE.md lacks %q", line)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.json.*")); len(left) > 0 {
		t.Errorf("temporary files stay behind: %q", left)
	}
	if changed, err := update(dir, fetched{json: fresh, source: "again", at: day}); err != nil || changed {
		t.Errorf("updating twice: changed %v, error %v; want neither", changed, err)
	}
}

func TestUpdateTouchesNothingWhenItRefuses(t *testing.T) {
	whole := publicgood.TrustedRootJSON()
	for name, tc := range map[string]struct {
		json []byte
		doc  string
		want string
	}{
		"not JSON":          {json: []byte("<html>"), want: "parse the fetched"},
		"truncated":         {json: whole[:len(whole)/2], want: "parse the fetched"},
		"empty":             {json: []byte(`{"mediaType":"application/vnd.dev.sigstore.trustedroot+json;version=0.1"}`), want: "lacks a log"},
		"SOURCE.md changed": {json: append(bytes.Clone(whole), '\n'), doc: "no lines to rewrite", want: "0 lines match"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := copied(t)
			if tc.doc != "" {
				if err := os.WriteFile(filepath.Join(dir, "SOURCE.md"), []byte(tc.doc), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			changed, err := update(dir, fetched{json: tc.json, source: "here", at: day})
			if changed || err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("changed %v, error %v; want an error with %q", changed, err, tc.want)
			}
			if read(t, dir, "trusted_root.json") != string(whole) || read(t, dir, "publicgood.go") != read(t, "..", "publicgood.go") {
				t.Error("a file was written")
			}
		})
	}
}

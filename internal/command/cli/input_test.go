package cli_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/must"
)

// mixed writes a folder of small and large, valid and malformed files, and returns the paths.
func mixed(t *testing.T) (dir string, paths []string) {
	t.Helper()
	dir = t.TempDir()
	document := func(name string) string {
		return "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata:\n  name: " + name + "\n"
	}
	large := document("large") + "spec:\n  text: " + strings.Repeat("x", 100<<10) + "\n"
	contents := []string{document("one"), document("one") + "---\n" + document("two"), "a: b: c\n", "", "# nothing\n", large, large + "---\na: *b\n---\n" + document("last"),
		"{\"kind\": \"x\"}{\"kind\": \"y\"}", "{", strings.Repeat("---\na: 1\n", 2000), strings.Repeat("# padding\n", 6553) + document("limit"), "\x00", document("end")}
	for i, text := range slices.Repeat(contents, 4) {
		path := filepath.Join(dir, fmt.Sprintf("%03d.yaml", i))
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		paths = append(paths, path)
	}
	return dir, paths
}

// TestReadingAhead: files that are read in parallel give the documents and results of files that are
// read one after another, in the same order, on any number of processors.
func TestReadingAhead(t *testing.T) {
	dir, paths := mixed(t)
	var want []string
	for _, path := range paths {
		f := must.Get(os.Open(path))(t)
		for doc, err := range exception.NewReader(f, path).All() {
			var syntax *exception.SyntaxError
			if err == nil {
				want = append(want, doc.Position().String()+" "+doc.Identity().String())
			} else if !errors.As(err, &syntax) {
				t.Fatal(err)
			}
		}
		_ = f.Close()
	}
	refused := map[string]int{}
	for _, processors := range []int{1, 2, 8} {
		runtime.GOMAXPROCS(processors)
		var got []string
		report := &cli.Report{Tool: "polex-validate"}
		cli.Inputs{Paths: []string{dir}, Report: report}.Each(func(doc *exception.Document) {
			got = append(got, doc.Position().String()+" "+doc.Identity().String())
		})
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("on %d processors: %s", processors, d)
		}
		refused[fmt.Sprint(report.Documents, report.Count(cli.Refuse), report.Count(cli.Unknown), written(t, "json", report))]++
	}
	runtime.GOMAXPROCS(runtime.NumCPU())
	if len(refused) != 1 {
		t.Errorf("%d different reports", len(refused))
	}
}

// TestReadingAheadIsBounded: only a few files are read before the first document is visited.
func TestReadingAheadIsBounded(t *testing.T) {
	dir := t.TempDir()
	for i := range 1000 {
		must.Do(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.yaml", i)), []byte("a: 1\n"), 0o600))
	}
	var opened atomic.Int64
	before := int64(-1)
	inputs := cli.Inputs{Paths: []string{dir}, Report: &cli.Report{}, Skip: func(string) bool { opened.Add(1); return false }}
	inputs.Each(func(*exception.Document) {
		if before < 0 {
			before = opened.Load()
		}
	})
	if most := int64(2*runtime.GOMAXPROCS(0) + 1); before > most || opened.Load() != 1000 {
		t.Errorf("%d files were read before the first document, want at most %d; %d in all", before, most, opened.Load())
	}
}

// TestWriteToDevice: WriteFile writes to a device and does not replace it.
func TestWriteToDevice(t *testing.T) {
	link := filepath.Join(t.TempDir(), "null")
	if err := os.Symlink(os.DevNull, link); err != nil {
		t.Skip(err)
	}
	must.Do(t, cli.WriteFile(link, []byte("a")))
	if info, err := os.Lstat(link); err != nil || info.Mode().Type() != os.ModeSymlink {
		t.Errorf("it was replaced: %v, %v", info, err)
	}
}

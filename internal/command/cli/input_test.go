package cli_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/expect"
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
		expect.Equal(t, fmt.Sprintf("on %d processors", processors), want, got)
		refused[fmt.Sprint(report.Documents, report.Count(cli.Refuse), report.Count(cli.Unknown), written(t, "json", report))]++
	}
	runtime.GOMAXPROCS(runtime.NumCPU())
	expect.Is(t, "different reports", 1, len(refused))
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
	info, err := os.Lstat(link)
	expect.That(t, err == nil && info.Mode().Type() == os.ModeSymlink, "it was replaced: %v, %v", info, err)
}

// TestOutputsReplaceNoInput: an output that is an input, the configuration, a file that it names or
// another output is rejected before the command runs, by any name of the file.
func TestOutputsReplaceNoInput(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, content := range map[string]string{
		"in/a.yaml": "a", "key.pem": "k", "root.json": "r", "signed/s.yaml": "s", "free.json": "{}", "policies/p.yaml": "p", "ca.pem": "c", ".git/HEAD": "",
		".polex.yaml": "apiVersion: polex.dev/v1alpha1\nkind: Config\ndirectories: {signed: signed}\n" +
			"trust:\n  trustedRoot: root.json\n  authorities:\n  - {name: k, keyFile: key.pem}\n",
	} {
		must.Do(t, os.MkdirAll(filepath.Dir(name), 0o755))
		must.Do(t, os.WriteFile(name, []byte(content), 0o600))
	}
	for link, target := range map[string]string{"link.yaml": "in/a.yaml", "folder": "in"} {
		must.Do(t, os.Symlink(target, link))
	}
	must.Do(t, os.Link("in/a.yaml", "hard.yaml"))
	for _, tc := range []struct{ args, problem string }{
		{"in/a.yaml --report json=in/a.yaml", "would replace the input in/a.yaml"},
		{"in/a.yaml --report json=./in/../in/a.yaml", "would replace the input in/a.yaml"},
		{"in/a.yaml --report json=link.yaml", "would replace the input in/a.yaml"},
		{"link.yaml --report json=in/a.yaml", "would replace the input link.yaml"},
		{"in/a.yaml --report json=hard.yaml", "would replace the input in/a.yaml"},
		{"in --report json=in/a.yaml", "would replace the input in"},
		{"folder --report json=in/a.yaml", "would replace the input folder"},
		{"in --report json=folder/a.yaml", "would replace the input in"},
		{"in --report json=.polex.yaml", "would replace the configuration"},
		{"in --report json=in/.POLEX.yaml", "would replace the configuration"},
		{"in --report json=key.pem", "would replace a file of the trust policy"},
		{"in --report json=root.json", "would replace a file of the trust policy"},
		{"in --report json=signed/s.yaml", "would replace a file of signed"},
		{"in --policies policies --report json=policies/p.yaml", "would replace --policies policies"},
		{"in --key ca.pem --report json=ca.pem", "would replace --key ca.pem"},
		{"in --output-file key.pem", "would replace a file of the trust policy"},
		{"in --output-file new --report json=new", "would replace --report new"},
		{"in --signed-output new/ --report json=new", "would replace --signed-output new/"},
		{"in --report json=folder/../in/a.yaml", "would replace the input in"},
		{"in --report text=new --report json=./NEW", "would replace --report new"},
		{"in --report text=free.json --report json=free.json", "would replace --report free.json"},
		{"in --output-file signed/s.yaml --report json=free.json", ""},
		{"in --report json=in/new.yaml --report text=new", ""},
		{"in --report json=/dev/null --report text=/dev/null", ""},
	} {
		ran := false
		build := func(streams cli.Streams) *cobra.Command {
			cmd := &cobra.Command{Use: "polex-validate", Args: cobra.ArbitraryArgs, RunE: func(*cobra.Command, []string) error { ran = true; return nil }}
			cli.AddFormatFlag(cmd)
			cmd.Flags().String("output-file", "", "")
			cmd.Flags().String("key", "", "")
			cmd.Flags().String("signed-output", "", "")
			cmd.Flags().StringSlice("policies", nil, "")
			cli.Writes(cmd.Flags(), "output-file")
			return cmd
		}
		var stderr bytes.Buffer
		status := cli.Run(context.Background(), build, strings.Fields(tc.args), cli.Streams{In: &stderr, Out: &stderr, Err: &stderr, Now: time.Now})
		if ran != (tc.problem == "") || tc.problem != "" && (status != cli.Usage || !strings.Contains(stderr.String(), tc.problem)) {
			t.Errorf("%s: exit code %d, ran %v: %s", tc.args, status, ran, stderr.String())
		}
	}
}

//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/internal/sandbox/sandboxtest"
)

// verified lists the numbers of signed files in one run, and the numbers of runs.
var verified = []struct{ files, runs int }{{100, 5}, {1000, 3}, {10000, 1}}

// TestManySealed runs polex-verify on folders of signed files, with one processor and with two, and
// prints the times. It does not judge them. It fails if the work was not done.
func TestManySealed(t *testing.T) {
	dir := t.TempDir()
	build(t, dir, "./test/e2e/measure")
	polexVerify := build(t, dir, "./cmd/polex-verify")
	box, err := sandbox.Start(t.Context(), sandbox.Options{Dir: filepath.Join(dir, "sandbox")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = box.Close() })
	most := verified[len(verified)-1].files
	files := sealMany(t, box, most)

	var table strings.Builder
	fmt.Fprintf(&table, "%10s %11s %10s %14s %12s\n", "files", "processors", "median", "us for each", "peak RSS MB")
	for _, v := range verified {
		folder := filepath.Join(dir, fmt.Sprint(v.files))
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		for i, file := range files[:v.files] {
			write(t, folder, fmt.Sprintf("%05d.yaml", i), file)
		}
		for _, processors := range []int{1, 2} {
			c := contestant{name: "polex-verify", command: []string{"env", fmt.Sprintf("GOMAXPROCS=%d", processors), polexVerify, "--config", box.ConfigPath}}
			for range v.runs {
				if out, err := c.run(t, dir, folder); err != nil || !strings.Contains(out, fmt.Sprintf("%[1]d documents: %[1]d verified", v.files)) {
					t.Fatalf("%v\n%.2000s", err, out)
				}
			}
			fmt.Fprintf(&table, "%10d %11d %10s %14d %12.1f\n", v.files, processors, c.median().Round(time.Millisecond),
				c.median().Microseconds()/int64(v.files), float64(c.peak)/1e6)
		}
	}
	t.Log("\n" + table.String())
}

// sealMany signs exceptions of different names under one certificate.
func sealMany(t *testing.T, box *sandbox.Sandbox, n int) []string {
	t.Helper()
	drafts := strings.Split(strings.TrimPrefix(legacyExceptions(n), "---\n"), "\n---\n")
	if len(drafts) != n {
		t.Fatalf("%d drafts, want %d", len(drafts), n)
	}
	return sandboxtest.Files(t, box, sandbox.Identity{}, time.Now(), drafts...)
}

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/polex-dev/polex/test/e2e/cluster"
)

// Folders of this repository, from the root.
const (
	binaries = "bin/e2e"
	tools    = "test/e2e/tools/kyverno"
)

// live is the one cluster of this process.
var live *cluster.Cluster

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "polex-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	live, err = cluster.Start(context.Background(), cluster.Options{Binaries: fromRoot(binaries), Tools: fromRoot(tools), Dir: dir})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer live.Close()
	status := m.Run()
	if status != 0 {
		fmt.Fprintln(os.Stderr, live.Logs())
	}
	return status
}

func fromRoot(path string) string {
	absolute, err := filepath.Abs(filepath.Join("..", "..", filepath.FromSlash(path)))
	if err != nil {
		return path
	}
	return absolute
}

// output runs what must not fail, and returns what it prints.
func output(t *testing.T, c *exec.Cmd) string {
	t.Helper()
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %v", c.Args, err)
	}
	return strings.TrimSpace(string(out))
}

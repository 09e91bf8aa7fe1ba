//go:build e2e

package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/polex-dev/polex/test/e2e/cluster"
)

// benchmarked are how many exceptions are checked at once, and how often.
var benchmarked = []struct{ exceptions, runs int }{{1, 11}, {1000, 5}, {10000, 3}}

// contestant is a program that is given a file of exceptions.
type contestant struct {
	name    string
	command func(file string) []string
	refuses string // in its output, when an exception is too wide
	took    []time.Duration
	peak    int64
}

// TestBeside runs polex-validate beside Kyverno's own command line with a policy
// that asks for the same, as whole processes and by turns, and prints what each
// took. It judges no figure: it fails when one of them did not do the work.
func TestBeside(t *testing.T) {
	dir := t.TempDir()
	validate := filepath.Join(dir, "polex-validate")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", validate, "./cmd/polex-validate")
	build.Dir = fromRoot(".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build polex-validate: %v\n%s", err, out)
	}
	source, err := cluster.KyvernoSource(t.Context(), fromRoot(tools))
	if err != nil {
		t.Fatal(err)
	}
	kyverno := []string{fromRoot(binaries + "/kubectl-kyverno"), "apply", fromRoot("test/e2e/testdata/shape-policy.yaml"),
		"--crd-paths", filepath.Join(source, "config", "crds", "kyverno"), "--resource"}
	ours := contestant{name: "polex-validate", command: func(file string) []string { return []string{validate, file} }, refuses: "wildcard-rule"}
	theirs := contestant{name: "kyverno apply", command: func(file string) []string { return append(slices.Clone(kyverno), file) }, refuses: "policies and rules are named"}

	wide := write(t, dir, "wide.yaml", strings.Replace(exceptions(1), "[check, autogen-check]", "['*']", 1))
	for _, c := range []*contestant{&ours, &theirs} {
		out, err := c.run(t, dir, wide)
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(out, c.refuses) {
			t.Fatalf("%s did not refuse a rule named '*': %v\n%s", c.name, err, out)
		}
	}

	var table strings.Builder
	fmt.Fprintf(&table, "%10s %5s  %-15s %10s %12s\n", "exceptions", "runs", "", "median", "peak RSS MB")
	for _, b := range benchmarked {
		file := write(t, dir, fmt.Sprintf("%d.yaml", b.exceptions), exceptions(b.exceptions))
		for _, c := range []*contestant{&ours, &theirs} {
			c.took, c.peak = nil, 0
		}
		for range b.runs {
			for _, c := range []*contestant{&ours, &theirs} {
				if out, err := c.run(t, dir, file); err != nil || !strings.Contains(out, fmt.Sprint(b.exceptions)) {
					t.Fatalf("%s with %d exceptions: %v\n%.2000s", c.name, b.exceptions, err, out)
				}
			}
		}
		for _, c := range []*contestant{&ours, &theirs} {
			fmt.Fprintf(&table, "%10d %5d  %-15s %10s %12.1f\n", b.exceptions, b.runs, c.name, c.median().Round(100*time.Microsecond), float64(c.peak)/1e6)
		}
		fmt.Fprintf(&table, "%10s %5s  %-15s %9.1f× %11.1f×\n", "", "", "ratio", float64(theirs.median())/float64(ours.median()), float64(theirs.peak)/float64(ours.peak))
	}
	t.Logf("on %d processors\n%s", runtime.NumCPU(), table.String())
}

// run is one process from start to end.
func (c *contestant) run(t *testing.T, dir, file string) (string, error) {
	t.Helper()
	arguments := c.command(file)
	command := exec.CommandContext(t.Context(), arguments[0], arguments[1:]...)
	command.Dir = dir // no configuration of this repository
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	began := time.Now()
	err := command.Run()
	c.took = append(c.took, time.Since(began))
	if command.ProcessState != nil {
		if usage, ok := command.ProcessState.SysUsage().(*syscall.Rusage); ok {
			c.peak = max(c.peak, peakBytes(usage))
		}
	}
	return out.String(), err
}

// peakBytes: only Darwin counts in bytes (getrusage(2)).
func peakBytes(usage *syscall.Rusage) int64 {
	if runtime.GOOS == "darwin" {
		return usage.Maxrss
	}
	return usage.Maxrss << 10
}

func (c *contestant) median() time.Duration {
	sorted := slices.Sorted(slices.Values(c.took))
	return sorted[len(sorted)/2]
}

// exceptions are n that differ in their names, and that nothing is wrong with.
func exceptions(n int) string {
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, `---
apiVersion: kyverno.io/v2
kind: PolicyException
metadata:
  name: web-%[1]d
  namespace: team-a
  annotations:
    polex.dev/reason: the vendor's image has no health endpoint
    polex.dev/expires-in: 7d
spec:
  exceptions:
  - policyName: require-probes
    ruleNames: [check, autogen-check]
  match:
    any:
    - resources:
        kinds: [Deployment]
        names: [web-%[1]d]
        namespaces: [team-a]
`, i)
	}
	return all.String()
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

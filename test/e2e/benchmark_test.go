//go:build e2e

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/test/e2e/fixture"
)

// benchmarked lists the numbers of exceptions in one check, and the numbers of runs.
var benchmarked = []struct{ exceptions, runs int }{{1, 11}, {1000, 5}, {10000, 3}, {50000, 1}}

// contestant is a program with a file of exceptions as its input.
type contestant struct {
	name    string
	command []string                    // without the file, which is the last argument
	most    int                         // maximum number of exceptions: more would take minutes
	refusal string                      // in its output if a policy or a rule is named '*'
	passed  func(exceptions int) string // in its output if all exceptions pass
	took    []time.Duration
	peak    int64
}

// TestBeside runs polex-validate and Kyverno's own command line in turns, as whole processes, with
// a policy of each kind that has the same requirements. It prints times and memory, and does not
// judge them. It fails if one of the programs did not do the work.
func TestBeside(t *testing.T) {
	dir := t.TempDir()
	build(t, dir, "./test/e2e/measure")
	binary := build(t, dir, "./cmd/polex-validate")
	for _, group := range []struct {
		name             string
		exceptions       func(n int) string
		narrow, wide     string
		refusal          string // of polex
		policies         string // of Kyverno: the prefix of the files' names
		most             int    // maximum number of exceptions for polex, and up to 10,000 for a ClusterPolicy
		validatingAtMost int    // maximum number of exceptions for a ValidatingPolicy
	}{
		{"kyverno.io", legacyExceptions, "[check, autogen-check]", "['*']", "[wildcard-rule]", "shape", 50000, 1000},
		{"policies.kyverno.io", celExceptions, "name: require-probes", "name: '*'", "[wildcard-policy]", "celshape", 1000, 1000},
	} {
		t.Run(group.name, func(t *testing.T) {
			all := []*contestant{
				polexValidate(binary, group.refusal, group.most),
				kyvernoApply(group.policies, "ClusterPolicy", 3, min(group.most, 10000)),
				kyvernoApply(group.policies, "ValidatingPolicy", 1, group.validatingAtMost),
			}
			wide := write(t, dir, "wide.yaml", strings.Replace(group.exceptions(1), group.narrow, group.wide, 1))
			for _, c := range all {
				out, err := c.run(t, dir, wide)
				var exit *exec.ExitError
				if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(out, c.refusal) {
					t.Fatalf("%s did not refuse %s: %v\n%s", c.name, group.wide, err, out)
				}
			}
			t.Logf("%s, on %d processors\n%s", group.name, runtime.NumCPU(), compare(t, dir, all, group.exceptions))
		})
	}
}

// compare runs all programs on the same files in turns, and returns a table. The ratios are
// relative to the first.
func compare(t *testing.T, dir string, all []*contestant, exceptions func(n int) string) string {
	t.Helper()
	var table strings.Builder
	fmt.Fprintf(&table, "%10s %5s  %-32s %10s %8s %12s %8s\n", "exceptions", "runs", "", "median", "ratio", "peak RSS MB", "ratio")
	for _, b := range benchmarked {
		file := write(t, dir, fmt.Sprintf("%d.yaml", b.exceptions), exceptions(b.exceptions))
		for _, c := range all {
			c.took, c.peak = nil, 0
		}
		for range b.runs {
			for _, c := range all {
				if b.exceptions > c.most {
					continue
				}
				if out, err := c.run(t, dir, file); err != nil || !strings.Contains(out, c.passed(b.exceptions)) {
					t.Fatalf("%s with %d exceptions: %v\n%.2000s", c.name, b.exceptions, err, out)
				}
			}
		}
		ours := all[0]
		for _, c := range all {
			if b.exceptions > c.most {
				continue
			}
			fmt.Fprintf(&table, "%10d %5d  %-32s %10s %8.1f %12.1f %8.1f\n", b.exceptions, b.runs, c.name,
				c.median().Round(100*time.Microsecond), float64(c.median())/float64(ours.median()), float64(c.peak)/1e6, float64(c.peak)/float64(ours.peak))
		}
	}
	return table.String()
}

// build builds a command of this module as in a release.
func build(t *testing.T, dir, command string) string {
	t.Helper()
	path := filepath.Join(dir, filepath.Base(command))
	build := exec.CommandContext(t.Context(), "go", "build", "-tags=grpcnotrace", "-trimpath", "-ldflags=-s -w", "-o", path, command)
	build.Dir = fixture.FromRoot(".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", command, err, out)
	}
	return path
}

func polexValidate(binary, refusal string, most int) *contestant {
	return &contestant{
		name: "polex-validate", command: []string{binary}, most: most, refusal: refusal,
		passed: func(n int) string {
			if n == 1 {
				return "1 document: 1 valid"
			}
			return fmt.Sprintf("%[1]d documents: %[1]d valid", n)
		},
	}
}

// kyvernoApply is Kyverno's command line with the policy of a kind. It counts rules, not
// exceptions.
func kyvernoApply(policies, kind string, rules, most int) *contestant {
	policy := fixture.FromRoot("test/e2e/testdata/" + policies + "-" + strings.ToLower(kind) + ".yaml")
	return &contestant{
		name: "kyverno apply, " + kind, command: []string{fixture.FromRoot(binaries + "/kubectl-kyverno"), "apply", policy, "--resource"}, most: most,
		refusal: "policies and rules are named, not matched",
		passed:  func(n int) string { return fmt.Sprintf("pass: %d, fail: 0", n*rules) },
	}
}

// run runs one process from start to end. A small program starts and measures it, since the peak
// memory of a process begins with that of its parent.
func (c *contestant) run(t *testing.T, dir, file string) (string, error) {
	t.Helper()
	measured := filepath.Join(dir, "measured.json")
	command := exec.CommandContext(t.Context(), filepath.Join(dir, "measure"), slices.Concat([]string{measured}, c.command, []string{file})...)
	command.Dir = dir // no configuration of this repository
	out, err := command.CombinedOutput()
	text, readErr := os.ReadFile(measured)
	if readErr != nil {
		t.Fatalf("measure %s: %v: %v\n%s", c.name, readErr, err, out)
	}
	var m struct{ Nanoseconds, PeakBytes int64 }
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	c.took = append(c.took, time.Duration(m.Nanoseconds))
	c.peak = max(c.peak, m.PeakBytes)
	return string(out), err
}

func (c *contestant) median() time.Duration {
	sorted := slices.Sorted(slices.Values(c.took))
	return sorted[len(sorted)/2]
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

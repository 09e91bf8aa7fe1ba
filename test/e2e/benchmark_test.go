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

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/internal/sandbox/sandboxtest"
	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/must"
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
	must.Run(t, build)
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
	must.Do(t, json.Unmarshal(text, &m))
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
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// verified lists the numbers of signed files in one run, and the numbers of runs.
var verified = []struct{ files, runs int }{{100, 5}, {1000, 3}, {10000, 1}}

// TestManySealed runs polex-verify on folders of signed files, with one processor and with two, and
// prints the times. It does not judge them. It fails if the work was not done.
func TestManySealed(t *testing.T) {
	dir := t.TempDir()
	build(t, dir, "./test/e2e/measure")
	polexVerify := build(t, dir, "./cmd/polex-verify")
	box := must.Get(sandbox.Start(t.Context(), sandbox.Options{Dir: filepath.Join(dir, "sandbox")}))(t)
	t.Cleanup(func() { _ = box.Close() })
	most := verified[len(verified)-1].files
	files := sealMany(t, box, most)

	var table strings.Builder
	fmt.Fprintf(&table, "%10s %11s %10s %14s %12s\n", "files", "processors", "median", "us for each", "peak RSS MB")
	for _, v := range verified {
		folder := filepath.Join(dir, fmt.Sprint(v.files))
		must.Do(t, os.Mkdir(folder, 0o700))
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

// legacyExceptions returns n valid exceptions of kyverno.io with different names.
func legacyExceptions(n int) string {
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

// celExceptions returns n valid exceptions of policies.kyverno.io. Each has two conditions in
// varying forms, and no text repeats.
func celExceptions(n int) string {
	ends := time.Now().Add(7 * 24 * time.Hour).UTC().Format(time.RFC3339)
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, `---
apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata: {name: web-%d, namespace: team-a}
spec:
  policyRefs:
  - {name: require-probes, kind: ValidatingPolicy}
  expiresAt: %q
  properties: {reason: the vendor's image has no health endpoint}
  matchConditions:
`, i, ends)
		fmt.Fprintf(&all, "  - name: only-web\n    expression: |-\n      %s\n", strings.ReplaceAll(celCondition(i), "\n", "\n      "))
	}
	return all.String()
}

// celCondition returns a condition of the ith exception, in the usual forms and in that of
// `polex-validate --fix`.
func celCondition(i int) string {
	team, web := fmt.Sprintf("team-%d", i), fmt.Sprintf("web-%d", i)
	forms := [][2]string{
		{"object.metadata.namespace == 'TEAM' && object.metadata.name.startsWith('WEB-')", "object.kind in ['Deployment', 'StatefulSet', 'TEAM']"},
		{"object.metadata.name == 'WEB'", "object.metadata.namespace == 'TEAM'"},
		{"has(object.metadata.labels) && 'app' in object.metadata.labels && object.metadata.labels['app'] == 'WEB'", "object.metadata.namespace in ['TEAM', 'TEAM-canary']"},
		{`object.metadata.?labels["app.kubernetes.io/name"].orValue("") == "WEB"`, `object.kind == "Deployment" && object.metadata.namespace == "TEAM"`},
		{"object.metadata.name in [NAMES]", "object.metadata.namespace == 'TEAM' || object.metadata.namespace.startsWith('TEAM-')"},
		{"request.userInfo.username == 'system:serviceaccount:TEAM:deployer'", "object.kind == 'Deployment' && object.metadata.name.startsWith('WEB-')"},
		{"object.metadata.name.matches('^WEB-[0-9a-f]+$')", "namespaceObject.metadata.name == 'TEAM'"},
		{"object.spec.template.spec.containers.exists(c, c.image.startsWith('registry.example/TEAM/'))", "object.metadata.namespace == 'TEAM' && request.operation != 'DELETE'"},
		{`[request.operation == 'DELETE' ? oldObject : object].exists(it,
  ((it.apiVersion == 'apps/v1' && it.kind == 'Deployment') &&
   (!has(request.subResource) || request.subResource == '') &&
   [has(it.metadata.name) && it.metadata.name != '' ? it.metadata.name : has(it.metadata.generateName) ? it.metadata.generateName : ''].exists(name, name == 'WEB') &&
   has(it.metadata.namespace) && it.metadata.namespace == 'TEAM')
)`, "!(object.metadata.name in ['WEB-db'])"},
		{"object.metadata.namespace == 'TEAM' && size(object.spec.containers) == 1", "object.metadata.name.split('-')[0] == 'WEB'"},
	}
	var names []string
	for j := range i/len(forms)%5 + 1 {
		names = append(names, fmt.Sprintf("'%s-%d'", web, j))
	}
	form := forms[i%len(forms)]
	r := strings.NewReplacer("TEAM", team, "WEB", web, "NAMES", strings.Join(names, ", "))
	return r.Replace("(" + form[0] + ") &&\n(" + form[1] + ")")
}

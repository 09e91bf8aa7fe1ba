//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/internal/sandbox/sandboxtest"
	"github.com/polex-dev/polex/test/beside"
	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/must"
)

// benchmarked lists the numbers of exceptions in one check, and the numbers of runs.
var benchmarked = []struct{ exceptions, runs int }{{1, 11}, {1000, 5}, {10000, 3}, {50000, 1}}

// checker is a program that checks a file of exceptions.
type checker struct {
	name    string
	command []string                    // without the file, which is the last argument
	most    int                         // maximum number of exceptions: more would take minutes
	refusal string                      // in its output if a policy or a rule is named '*'
	passed  func(exceptions int) string // in its output if all exceptions pass
}

// TestBeside runs polex-validate and Kyverno's own command line in turns, as whole processes, with
// a policy of each kind that has the same requirements. It prints times and memory, and does not
// judge them. It fails if one of the programs did not do the work.
func TestBeside(t *testing.T) {
	dir := t.TempDir()
	measure, binary := build(t, dir, "./test/e2e/measure"), build(t, dir, "./cmd/polex-validate")
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
			all := []checker{
				{"polex-validate", []string{binary}, group.most, group.refusal, allValid},
				kyvernoApply(group.policies, "ClusterPolicy", 3, min(group.most, 10000)),
				kyvernoApply(group.policies, "ValidatingPolicy", 1, group.validatingAtMost),
			}
			wide := write(t, dir, "wide.yaml", strings.Replace(group.exceptions(1), group.narrow, group.wide, 1))
			for _, c := range all {
				_, out, err := beside.Process(t.Context(), measure, dir, append(c.command, wide)...)
				var exit *exec.ExitError
				must.That(t, errors.As(err, &exit) && exit.ExitCode() == 1 && strings.Contains(out, c.refusal),
					"%s did not refuse %s: %v\n%s", c.name, group.wide, err, out)
			}
			for _, b := range benchmarked {
				file := write(t, dir, fmt.Sprintf("%d.yaml", b.exceptions), group.exceptions(b.exceptions))
				var ways []*beside.Way
				for _, c := range all {
					if b.exceptions <= c.most {
						ways = append(ways, c.way(t, measure, dir, file, b.exceptions))
					}
				}
				if len(ways) > 0 {
					beside.Measure(t, fmt.Sprintf("%d exceptions", b.exceptions), b.runs, ways...)
				}
			}
		})
	}
}

// way checks a file of n valid exceptions.
func (c checker) way(t *testing.T, measure, dir, file string, n int) *beside.Way {
	return &beside.Way{Name: c.name, Do: func() beside.Cost {
		cost, out, err := beside.Process(t.Context(), measure, dir, append(c.command, file)...)
		must.That(t, err == nil && strings.Contains(out, c.passed(n)),
			"%s with %d exceptions: %v\n%.2000s", c.name, n, err, out)
		return cost
	}}
}

// allValid is the summary of polex-validate.
func allValid(n int) string {
	if n == 1 {
		return "1 document: 1 valid"
	}
	return fmt.Sprintf("%[1]d documents: %[1]d valid", n)
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

// kyvernoApply is Kyverno's command line with the policy of a kind. It counts rules, not exceptions.
func kyvernoApply(policies, kind string, rules, most int) checker {
	policy := fixture.FromRoot("test/e2e/testdata/" + policies + "-" + strings.ToLower(kind) + ".yaml")
	return checker{
		name: "kyverno apply, " + kind, command: []string{fixture.FromRoot(binaries + "/kubectl-kyverno"), "apply", policy, "--resource"}, most: most,
		refusal: "policies and rules are named, not matched",
		passed:  func(n int) string { return fmt.Sprintf("pass: %d, fail: 0", n*rules) },
	}
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// TestManySealed runs polex-verify on a thousand signed files, with one processor and with two, and
// prints the times. It does not judge them. It fails if the work was not done.
func TestManySealed(t *testing.T) {
	const many = 1000
	dir := t.TempDir()
	measure, program := build(t, dir, "./test/e2e/measure"), build(t, dir, "./cmd/polex-verify")
	box := must.Get(sandbox.Start(t.Context(), sandbox.Options{Dir: filepath.Join(dir, "sandbox")}))(t)
	t.Cleanup(func() { _ = box.Close() })
	folder := t.TempDir()
	drafts := strings.Split(strings.TrimPrefix(legacyExceptions(many), "---\n"), "\n---\n")
	for i, file := range sandboxtest.Files(t, box, sandbox.Identity{}, time.Now(), drafts...) {
		write(t, folder, fmt.Sprintf("%05d.yaml", i), file)
	}
	ways := []*beside.Way{{Name: "GOMAXPROCS=1"}, {Name: "GOMAXPROCS=2"}}
	for _, w := range ways {
		verifier := checker{name: w.Name, command: []string{"env", w.Name, program, "--config", box.ConfigPath},
			passed: func(n int) string { return fmt.Sprintf("%[1]d documents: %[1]d verified", n) }}
		w.Do = verifier.way(t, measure, dir, folder, many).Do
	}
	beside.Measure(t, "1000 signed files", 3, ways...)
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

// celCondition returns a condition of the ith exception, in the usual forms and in that of `polex-validate --fix`.
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

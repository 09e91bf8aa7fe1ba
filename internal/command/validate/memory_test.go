package validate

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// TestMemory limits the memory that the command keeps for each exception. There may be tens of thousands of them, and a
// parsed document takes many thousand bytes: 10,000 exceptions take 20 MB at most.
func TestMemory(t *testing.T) {
	t.Chdir(t.TempDir())        // no configuration of this repository
	const few, many = 300, 4800 // with many documents, those in work matter little
	for _, tc := range []struct {
		name      string
		exception func(i int) string
		bytes     int
	}{
		{"kyverno.io", forNames, 2000},
		{"policies.kyverno.io", forConditions, 2000},
	} {
		in := &weighed{document: tc.exception, count: many, weighAt: few}
		if out, status := validate(in, "-"); status != cli.Passed || !strings.HasPrefix(out, fmt.Sprintf("%[1]d documents: %[1]d valid", many)) {
			t.Fatalf("%s: status %d\n%.1000s", tc.name, status, out)
		}
		each := (in.atEnd - in.atMark) / (many - few)
		expect.That(t, each <= tc.bytes, "%s: %d bytes are kept of each exception", tc.name, each)
	}
}

// TestMemoryOfLiveOnes does the same for the exceptions in --signed, which are much longer because of their signatures.
func TestMemoryOfLiveOnes(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	with := func(live int) int {
		var all strings.Builder
		for i := range live {
			all.WriteString("---\n" + strings.Replace(forNames(i), "  annotations:\n", "  annotations:\n    example.com/seal: "+strings.Repeat("x", 4000)+"\n", 1))
		}
		path := filepath.Join(dir, "live.yaml")
		must.Do(t, os.WriteFile(path, []byte(all.String()), 0o600))
		in := &weighed{document: forConditions, count: 1}
		out, status := validate(in, "--signed", path, "-")
		must.That(t, status == cli.Passed, "status %d\n%.1000s", status, out)
		return in.atMark
	}
	const few, many = 200, 2200
	each := (with(many) - with(few)) / (many - few)
	expect.That(t, each <= 2000, "%d bytes are kept of each exception", each)
}

func validate(in *weighed, args ...string) (out string, status int) {
	var stdout, stderr bytes.Buffer
	status = cli.Run(context.Background(), New, args, cli.Streams{In: in, Out: &stdout, Err: &stderr, Now: time.Now})
	return stdout.String() + stderr.String(), status
}

// weighed is an input that generates documents. It measures the memory in use before document weighAt and at the end.
type weighed struct {
	document       func(i int) string
	count, weighAt int

	next          int
	rest          string
	atMark, atEnd int
}

// Read implements [io.Reader].
func (w *weighed) Read(p []byte) (int, error) {
	if w.rest == "" {
		if w.next == w.weighAt {
			w.atMark = held()
		}
		if w.next == w.count {
			w.atEnd = held()
			return 0, io.EOF
		}
		w.rest = "---\n" + w.document(w.next)
		w.next++
	}
	n := copy(p, w.rest)
	w.rest = w.rest[n:]
	return n, nil
}

// held returns the number of bytes in use.
func held() int {
	runtime.GC()
	runtime.GC() // a sync.Pool is empty after the second collection
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc) //nolint:gosec // it fits
}

func forNames(i int) string {
	return fmt.Sprintf(`apiVersion: kyverno.io/v2
kind: PolicyException
metadata:
  name: web-%[1]d
  namespace: team-%[2]d
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
        namespaces: [team-%[2]d]
`, i, i%50)
}

func forConditions(i int) string {
	return fmt.Sprintf(`apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata:
  name: web-%[1]d
  namespace: team-%[2]d
spec:
  policyRefs:
  - name: require-probes
    kind: ValidatingPolicy
  matchConditions:
  - name: only-web
    expression: object.metadata.namespace == 'team-%[2]d' && object.metadata.name == 'web-%[1]d'
  expiresAt: "2999-12-31T00:00:00Z"
  properties:
    reason: the vendor's image has no health endpoint
`, i, i%50)
}

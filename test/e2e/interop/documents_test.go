//go:build e2e

package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/e2e/servers"
)

// drafts are typical exceptions by API group. NAME is a placeholder for the name.
var drafts = map[string]string{
	"kyverno.io": `apiVersion: kyverno.io/v2
kind: PolicyException
metadata:
  name: NAME
  namespace: team-a
  annotations:
    polex.dev/reason: 'the vendor''s agent mounts the host'
    polex.dev/expires-in: 7d
spec:
  match:
    any:
    - resources:
        kinds: [Pod]
        names: ["agent-*"]
        namespaces: [team-a]
  exceptions:
  - policyName: disallow-host-path
    ruleNames: [host-path]
`,
	"policies.kyverno.io": `apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata:
  name: NAME
  namespace: team-a
  annotations:
    polex.dev/expires-in: 7d
spec:
  policyRefs:
  - name: disallow-host-path
    kind: ValidatingPolicy
  matchConditions:
  - name: agents
    expression: object.metadata.name.startsWith("agent-") && object.metadata.namespace == 'team-a'
  properties:
    reason: "0123" # text, and not a number
`,
}

// draft writes an exception to a new folder and returns its path.
func draft(t *testing.T, group, name string) string {
	t.Helper()
	return write(t, name+".yaml", strings.Replace(drafts[group], "NAME", name, 1))
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// token writes the token of an identity to a file and returns its path.
func token(t *testing.T, id sandbox.Identity) string {
	t.Helper()
	text, err := box.Token(id, "sigstore")
	if err != nil {
		t.Fatal(err)
	}
	return write(t, "token", text)
}

// must runs a command that must succeed, and returns its output.
func must(t *testing.T, program string, args ...string) string {
	t.Helper()
	out, err := commands.Output(t.Context(), servers.Command{Program: program, Args: args})
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// sealed signs a file with polex-sign, and returns the path of the result.
func sealed(t *testing.T, p place, path string, more ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), filepath.Base(path))
	must(t, "polex-sign", append([]string{"--config", p.config, "--identity-token", token(t, sandbox.Identity{}), path, "--output-file", out}, more...)...)
	return out
}

// report is polex-verify's report in JSON.
type report struct {
	Results []struct {
		File, Reason, Message string
		Details               struct{ Signatures []map[string]any }
	}
}

// verified runs polex-verify, for any verdict.
func verified(t *testing.T, args ...string) report {
	t.Helper()
	// There is a report for the exit statuses 0 and 1.
	out, err := commands.Output(context.Background(), servers.Command{Program: "polex-verify", Args: append([]string{"-o", "json"}, args...)})
	var r report
	if json.Unmarshal(out, &r) != nil || len(r.Results) == 0 {
		t.Fatal(err)
	}
	return r
}

// reasons returns the reason of each result.
func (r report) reasons() string {
	var all []string
	for _, result := range r.Results {
		all = append(all, result.Reason)
	}
	return fmt.Sprint(all)
}

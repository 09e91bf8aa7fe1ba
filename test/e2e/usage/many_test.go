//go:build e2e

package usage

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/internal/sandbox/sandboxtest"
	"github.com/polex-dev/polex/test/must"
)

// TestMany: polex-audit reads 5,000 exceptions and 50,000 results of reports from the output of
// kubectl in at most 300 MB.
func TestMany(t *testing.T) {
	const exceptions, each, limit = 5000, 10, 300 << 20
	drafts := make([]string, exceptions)
	for i := range drafts {
		drafts[i] = fmt.Sprintf("apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata:\n  name: e%d\n  namespace: platform\n  annotations: {polex.dev/expires-in: 30d, polex.dev/reason: test}\nspec: {exceptions: [{policyName: p%d, ruleNames: [check]}], match: {any: [{resources: {kinds: [Pod], namespaces: [team-%d], names: ['web-*']}}]}}\n", i, i%50, i)
	}
	dir := t.TempDir()
	box := run.Sigstore
	signed, err := sandboxtest.Sign(t.Context(), box, sandbox.Identity{}, time.Now(), drafts...)
	must.Do(t, err)
	must.Do(t, os.Mkdir(filepath.Join(dir, "signed"), 0o755))
	live, err := os.Create(filepath.Join(dir, "live.yaml"))
	must.Do(t, err)
	out := bufio.NewWriter(live)
	_, _ = out.WriteString("apiVersion: v1\nitems:\n")
	item := func(object []byte) {
		lines := strings.ReplaceAll(strings.TrimRight(string(object), "\n"), "\n", "\n  ")
		_, _ = out.WriteString("- " + lines + "\n")
	}
	for i, doc := range signed {
		must.Do(t, os.WriteFile(filepath.Join(dir, "signed", fmt.Sprintf("%d.yaml", i)), doc.Source(), 0o600))
		object, err := yaml.Marshal(doc.Object())
		must.Do(t, err)
		item(object)
	}
	for i := range exceptions {
		results := make([]any, each)
		for n := range results {
			outcome, names := "skip", fmt.Sprintf("e%d", i)
			if n > 0 {
				outcome, names = "pass", ""
			}
			results[n] = map[string]any{"source": "kyverno", "policy": fmt.Sprintf("p%d", (i+n)%50), "rule": "check", "result": outcome, "message": "validation rule 'check' passed.",
				"timestamp": map[string]any{"seconds": 1795717987, "nanos": 0}, "properties": map[string]any{"exceptions": names, "process": "background scan"}}
		}
		report, err := yaml.Marshal(map[string]any{"apiVersion": "wgpolicyk8s.io/v1alpha2", "kind": "PolicyReport", "metadata": map[string]any{"name": fmt.Sprintf("r%d", i), "namespace": fmt.Sprintf("team-%d", i)},
			"scope": map[string]any{"apiVersion": "v1", "kind": "Pod", "namespace": fmt.Sprintf("team-%d", i), "name": "web-1"}, "results": results})
		must.Do(t, err)
		item(report)
	}
	_, _ = out.WriteString("kind: List\nmetadata:\n  resourceVersion: \"\"\n")
	must.Do(t, out.Flush())
	must.Do(t, live.Close())
	root, err := os.ReadFile(box.TrustedRootPath)
	must.Do(t, err)
	must.Do(t, os.WriteFile(filepath.Join(dir, "root.json"), root, 0o600))
	config := fmt.Sprintf("apiVersion: polex.dev/v1alpha1\nkind: Config\ntrust:\n  trustedRoot: root.json\n  authorities: [{name: a, issuer: %q, subject: 'https://github.com/acme/exceptions/.github/workflows/merge.yaml@refs/heads/main'}]\n", box.IssuerURL)
	must.Do(t, os.WriteFile(filepath.Join(dir, "trust.yaml"), []byte(config), 0o600))
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "signed"}, {"-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "-q", "-m", "Sign"}} {
		git := exec.CommandContext(t.Context(), "git", args...)
		git.Dir = dir
		must.Do(t, git.Run())
	}
	measure := filepath.Join(dir, "measure")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", measure, "github.com/polex-dev/polex/test/e2e/measure")
	must.Do(t, build.Run())
	for _, args := range [][]string{nil, {"--live", "live.yaml"}} {
		program := filepath.Join(run.Folder, "polex-audit")
		audit := exec.CommandContext(t.Context(), measure, append([]string{"measured", program, "--config", "trust.yaml", "-o", "json"}, args...)...)
		audit.Dir = dir
		raw, err := audit.Output()
		must.Do(t, err)
		var measured struct{ PeakBytes int64 }
		text, err := os.ReadFile(filepath.Join(dir, "measured"))
		must.Do(t, err)
		must.Do(t, json.Unmarshal(text, &measured))
		cpu := audit.ProcessState.UserTime() + audit.ProcessState.SystemTime()
		t.Logf("%v: %s CPU, %d MB", args, cpu.Round(time.Millisecond), measured.PeakBytes>>20)
		var report struct {
			Entries []struct{ Usage *struct{ State string } }
		}
		must.Do(t, json.Unmarshal(raw, &report))
		inUse := 0
		for _, e := range report.Entries {
			if e.Usage != nil && e.Usage.State == "in-use" {
				inUse++
			}
		}
		if want := exceptions * len(args) / 2; inUse != want || measured.PeakBytes > limit {
			t.Errorf("%d of %d are in use, with %d MB", inUse, want, measured.PeakBytes>>20)
		}
	}
}

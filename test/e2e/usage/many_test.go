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
	dir, signed := repository(t, drafts...)
	live := must.Get(os.Create(filepath.Join(dir, "live.yaml")))(t)
	out := bufio.NewWriter(live)
	_, _ = out.WriteString("apiVersion: v1\nitems:\n")
	item := func(object []byte) {
		lines := strings.ReplaceAll(strings.TrimRight(string(object), "\n"), "\n", "\n  ")
		_, _ = out.WriteString("- " + lines + "\n")
	}
	for _, doc := range signed {
		item(must.Get(yaml.Marshal(doc.Object()))(t))
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
		item(must.Get(yaml.Marshal(map[string]any{"apiVersion": "wgpolicyk8s.io/v1alpha2", "kind": "PolicyReport", "metadata": map[string]any{"name": fmt.Sprintf("r%d", i), "namespace": fmt.Sprintf("team-%d", i)},
			"scope": map[string]any{"apiVersion": "v1", "kind": "Pod", "namespace": fmt.Sprintf("team-%d", i), "name": "web-1"}, "results": results}))(t))
	}
	_, _ = out.WriteString("kind: List\nmetadata:\n  resourceVersion: \"\"\n")
	must.Do(t, out.Flush())
	must.Do(t, live.Close())
	measure := filepath.Join(dir, "measure")
	must.Run(t, exec.CommandContext(t.Context(), "go", "build", "-o", measure, "github.com/polex-dev/polex/test/e2e/measure"))
	for _, args := range [][]string{nil, {"--live", "live.yaml"}} {
		program := filepath.Join(run.Folder, "polex-audit")
		audit := exec.CommandContext(t.Context(), measure, append([]string{"measured", program, "--config", "trust.yaml", "-o", "json"}, args...)...)
		audit.Dir = dir
		raw := must.Output(t, audit)
		var measured struct{ PeakBytes int64 }
		must.Do(t, json.Unmarshal(must.Get(os.ReadFile(filepath.Join(dir, "measured")))(t), &measured))
		cpu := audit.ProcessState.UserTime() + audit.ProcessState.SystemTime()
		t.Logf("%v: %s CPU, %d MB", args, cpu.Round(time.Millisecond), measured.PeakBytes>>20)
		var report struct {
			Entries []struct{ Usage *struct{ State string } }
		}
		must.Do(t, json.Unmarshal([]byte(raw), &report))
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

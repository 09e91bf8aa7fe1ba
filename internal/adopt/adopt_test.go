package adopt_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/internal/adopt"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

var update = flag.Bool("update", false, "write the plans anew")

const day = 24 * time.Hour

// now is a Wednesday.
var now = time.Date(2026, 1, 7, 9, 30, 0, 0, time.UTC)

// read reads a test case: the comment of the archive contains the options. The files are the
// repository, except "rendered", "live", "live2" and "plan".
func read(t *testing.T, name string) (a *txtar.Archive, in adopt.Input, o adopt.Options) {
	t.Helper()
	a = must.Get(txtar.ParseFile(name))(t)
	in = adopt.Input{Files: map[string][]byte{}, Live: map[string][]*exception.Document{}}
	o = adopt.Options{Unsigned: "unsigned", Signed: "signed", First: 30 * day, Last: 90 * day, Now: now, Branch: "main",
		Origin: "git@github.com:Acme/platform.git", Shape: shape.Config{}}
	for line := range strings.Lines(string(a.Comment)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch key {
		case "namespace":
			o.Namespace = value
		case "origin":
			o.Origin = value
		case "configured":
			o.Configured, o.Shape.Rules.Longest = true, 60*day
		case "expiryKey":
			o.Shape.Rules.Terms.Keys = append(o.Shape.Rules.Terms.Keys, value)
		}
	}
	for _, f := range a.Files {
		switch f.Name {
		case "rendered":
			in.Rendered = f.Data
		case "live", "live2":
			in.Live["<"+f.Name+">"] = live(t, f.Data)
		case "plan":
		default:
			in.Files[f.Name] = f.Data
		}
	}
	return a, in, o
}

// live reads a list of objects, or one object. Anchors keep the cases short.
func live(t *testing.T, content []byte) (all []*exception.Document) {
	t.Helper()
	var list map[string]any
	must.Do(t, yaml.Unmarshal(content, &list))
	items, isList := list["items"].([]any)
	if !isList {
		items = []any{list}
	}
	for _, item := range items {
		raw := must.Get(json.Marshal(item))(t)
		doc := must.Get(exception.ParseUndeployed(raw, ""))(t)
		all = append(all, doc)
	}
	return all
}

// TestPlans compares the plan of each case. After the plan, kustomize must build the repository,
// and nothing is left to adopt.
func TestPlans(t *testing.T) {
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			a, in, o := read(t, name)
			builds(t, in.Files)
			plan := must.Get(adopt.Make(in, o))(t)
			got := describe(plan)
			i := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == "plan" })
			if *update {
				if i < 0 {
					i, a.Files = len(a.Files), append(a.Files, txtar.File{Name: "plan"})
				}
				a.Files[i].Data = []byte(got)
				must.Do(t, os.WriteFile(name, txtar.Format(a), 0o600))
			}
			must.That(t, i >= 0, "the case has no plan")
			expect.Equal(t, "the plan", string(a.Files[i].Data), got)
			again(t, in, plan, o)
		})
	}
}

// again applies a plan and checks the result.
func again(t *testing.T, in adopt.Input, plan *adopt.Plan, o adopt.Options) {
	t.Helper()
	files := in.Files
	for _, name := range plan.Remove {
		_, there := files[name]
		expect.That(t, there, "%s is removed, and is not there", name)
		delete(files, name)
	}
	maps.Copy(files, plan.Write)
	builds(t, files)
	second := must.Get(adopt.Make(in, o))(t)
	if len(second.Adopted) > 0 || len(second.Write)+len(second.Remove) > 0 {
		t.Errorf("a second run finds more:\n%s", describe(second))
	}
	for _, adopted := range plan.Adopted {
		_, err := exception.Parse(files[adopted.To], adopted.To)
		expect.That(t, err == nil, "%s: %v", adopted.To, err)
	}
}

// builds runs kustomize for every kustomization with only local entries.
func builds(t *testing.T, files map[string][]byte) {
	t.Helper()
	fs := filesys.MakeFsInMemory()
	for name, content := range files {
		must.Do(t, fs.WriteFile("/"+name, content))
	}
	options := krusty.MakeDefaultOptions()
	options.LoadRestrictions = types.LoadRestrictionsNone
	for name, content := range files {
		if filepath.Base(name) != "kustomization.yaml" || bytes.Contains(content, []byte("replacements:")) ||
			bytes.Contains(content, []byte("{{")) ||
			bytes.Contains(content, []byte("https:")) || bytes.Contains(content, []byte("kind: Component")) {
			continue
		}
		_, err := krusty.MakeKustomizer(options).Run(fs, "/"+filepath.Dir(name))
		expect.That(t, err == nil, "%s does not build: %v", name, err)
	}
}

// describe returns a plan as text.
func describe(p *adopt.Plan) string {
	var b strings.Builder
	for _, a := range p.Adopted {
		fmt.Fprintf(&b, "adopt %s:%d %s to %s until %s stated=%t\n", a.File, a.Line, a.Identity, a.To,
			a.ExpiresAt.UTC().Format(time.RFC3339), a.Stated)
		for _, note := range a.Notes {
			fmt.Fprintf(&b, "  %s\n", note)
		}
	}
	for _, problem := range p.Problems {
		fmt.Fprintf(&b, "leave %s:%d %s [%s]\n  hint: %s\n", problem.File, problem.Line, problem.Message,
			problem.Reason,
			problem.Hint)
	}
	for _, line := range p.Edits {
		fmt.Fprintf(&b, "edit %s\n", line)
	}
	for _, line := range p.Notes {
		fmt.Fprintf(&b, "note %s\n", line)
	}
	for _, name := range p.Remove {
		fmt.Fprintf(&b, "remove %s\n", name)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Write)) {
		fmt.Fprintf(&b, "write %s\n", name)
		for line := range strings.Lines(string(p.Write[name])) {
			b.WriteString("  | " + strings.TrimSuffix(line, "\n") + "\n")
		}
	}
	return b.String()
}

package adopt_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/adopt"
	"github.com/polex-dev/polex/pkg/shape"
)

func plan(t *testing.T, files map[string]string) *adopt.Plan {
	t.Helper()
	in := adopt.Input{Files: map[string][]byte{}}
	for name, content := range files {
		in.Files[name] = []byte(content)
	}
	plan, err := adopt.Make(in, adopt.Options{Unsigned: "unsigned", Signed: "signed", First: 30 * day, Last: 90 * day, Now: now, Shape: shape.Baseline()})
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

const attacked = `apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: web, namespace: a%s}
spec:
  match: {any: [{resources: {kinds: [Pod], namespaces: [data], names: [mongo]}}]}
  exceptions: [{policyName: require-run-as-nonroot, ruleNames: [run-as-non-root]}]
`

var exceptionFile = fmt.Sprintf(attacked, "")

// TestNothingIsFetched: an entry of a kustomization that is an address causes no request, even if a
// file of the repository has that path. The form of the exception is then unknown, unless the entry
// is a resource, which is another object.
func TestNothingIsFetched(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked = append(asked, r.URL.Path) }))
	defer server.Close()
	for name, c := range map[string]struct {
		files   map[string]string
		unknown bool
	}{
		"resource":          {files: map[string]string{"k/kustomization.yaml": "resources: [own.yaml, " + server.URL + "/../../own.yaml]", "k/own.yaml": exceptionFile}},
		"base":              {files: map[string]string{"k/kustomization.yaml": "bases: [" + server.URL + "/../../base]", "k/base/kustomization.yaml": "resources: [e.yaml]", "k/base/e.yaml": exceptionFile}},
		"git":               {files: map[string]string{"k/kustomization.yaml": "resources: ['git@127.0.0.1:x/../../base']", "k/base/kustomization.yaml": "resources: [e.yaml]", "k/base/e.yaml": exceptionFile, "base/kustomization.yaml": "resources: []"}},
		"a folder's name":   {files: map[string]string{"k/kustomization.yaml": "resources: [github.com/acme/base]", "k/github.com/acme/base/kustomization.yaml": "resources: [e.yaml]", "k/github.com/acme/base/e.yaml": exceptionFile}},
		"patch":             {files: map[string]string{"k/kustomization.yaml": "resources: [e.yaml]\npatches: [{path: " + server.URL + "/p.yaml}]", "k/e.yaml": exceptionFile}, unknown: true},
		"patch of a kind":   {files: map[string]string{"k/kustomization.yaml": "resources: [e.yaml]\npatches: [{path: " + server.URL + "/p.yaml, target: {kind: PolicyException}}]", "k/e.yaml": exceptionFile}, unknown: true},
		"merge":             {files: map[string]string{"k/kustomization.yaml": "resources: [e.yaml]\npatchesStrategicMerge: [" + server.URL + "/p.yaml]", "k/e.yaml": exceptionFile}, unknown: true},
		"component":         {files: map[string]string{"k/kustomization.yaml": "resources: [e.yaml]\ncomponents: [" + server.URL + "/c]", "k/e.yaml": exceptionFile}, unknown: true},
		"outside":           {files: map[string]string{"k/kustomization.yaml": "resources: [e.yaml]\npatches: [{path: ../../../../etc/hosts}]", "k/e.yaml": exceptionFile}, unknown: true},
		"Application":       {files: map[string]string{"app.yaml": application("patches: [{path: " + server.URL + "/p.yaml, target: {kind: PolicyException}}]"), "k/kustomization.yaml": "resources: [e.yaml]", "k/e.yaml": exceptionFile}, unknown: true},
		"Application's own": {files: map[string]string{"app.yaml": application("components: [" + server.URL + "/c]"), "k/kustomization.yaml": "resources: [e.yaml]", "k/e.yaml": exceptionFile}, unknown: true},
	} {
		t.Run(name, func(t *testing.T) {
			p := plan(t, c.files)
			if len(asked) > 0 {
				t.Errorf("asked for %q", asked)
			}
			asked = nil
			if unknown := len(p.Problems) == 1 && p.Problems[0].Reason == adopt.ReasonNotRendered; unknown != c.unknown || !unknown && len(p.Adopted) != 1 {
				t.Errorf("the plan:\n%s", describe(p))
			}
		})
	}
}

func application(kustomize string) string {
	return "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: k}\nspec:\n  source:\n    path: k\n    kustomize: {" + kustomize + "}\n  destination: {namespace: a}\n"
}

// TestCost: input that needs exponential time or space in kustomize or Flux's substitution is not
// rendered. polex itself reads each folder once.
func TestCost(t *testing.T) {
	const deep = 60
	components := map[string]string{"t/kustomization.yaml": "resources: [e.yaml]\ncomponents: [../c0]", "t/e.yaml": exceptionFile}
	overlays := map[string]string{"e/kustomization.yaml": "resources: [e.yaml]", "e/e.yaml": exceptionFile, fmt.Sprintf("o%d/kustomization.yaml", deep): "resources: [../e]"}
	for i := range deep {
		components[fmt.Sprintf("c%d/kustomization.yaml", i)] = fmt.Sprintf("kind: Component\ncomponents: [../c%d, ../c%[1]d]", i+1)
		overlays[fmt.Sprintf("o%d/kustomization.yaml", i)] = fmt.Sprintf("namePrefix: o\nresources: [../o%d, ../p%[1]d]", i+1)
		overlays[fmt.Sprintf("p%d/kustomization.yaml", i+1)] = fmt.Sprintf("namePrefix: p\nresources: [../o%d]", i+1)
	}
	components[fmt.Sprintf("c%d/kustomization.yaml", deep)] = "kind: Component"
	large := func(levels int) map[string]string {
		files := map[string]string{"e/kustomization.yaml": "resources: [e.yaml]", "e/e.yaml": fmt.Sprintf(attacked, ", annotations: {a: "+strings.Repeat("x", 900_000)+"}"), fmt.Sprintf("o%d/kustomization.yaml", levels): "resources: [../e]"}
		for i := range levels {
			files[fmt.Sprintf("o%d/kustomization.yaml", i)] = fmt.Sprintf("namePrefix: o\nresources: [../o%d, ../p%[1]d]", i+1)
			files[fmt.Sprintf("p%d/kustomization.yaml", i+1)] = fmt.Sprintf("namePrefix: p\nresources: [../o%d]", i+1)
		}
		return files
	}
	many := ""
	for i := range 1000 {
		many += strings.Replace("---\n"+exceptionFile, "name: web", fmt.Sprintf("name: web%d", i), 1)
	}
	flux := func(exception string) map[string]string {
		return map[string]string{"k/e.yaml": exception, "ks.yaml": "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: k}\nspec:\n" +
			"  path: k\n  sourceRef: {kind: GitRepository, name: g}\n  postBuild: {substitute: {A: " + strings.Repeat("x", 200_000) + "}}\n"}
	}
	patched := func(patch, target string) map[string]string {
		return map[string]string{"k/kustomization.yaml": "resources: [e.yaml]\npatches: [{path: p.yaml" + target + "}]", "k/e.yaml": exceptionFile, "k/p.yaml": patch}
	}
	const ofExceptions, lengthy = ", target: {kind: PolicyException}", "can be of any length"
	aliases := "&a " + strings.Repeat("x", 500_000) + ", b: [" + strings.Repeat("*a, ", 5_000) + "]"
	for name, c := range map[string]struct {
		files map[string]string
		want  string // of the problem
	}{
		"a patch with aliases":    {patched(fmt.Sprintf(attacked, ", labels: {a: "+aliases+"}"), ""), lengthy},
		"aliases in the second":   {patched(exceptionFile+"---\n"+fmt.Sprintf(attacked, ", labels: {a: "+aliases+"}"), ""), lengthy},
		"aliases not counted":     {patched(exceptionFile+"---\na: *b\nb: &b 1\n", ""), lengthy},
		"operations with aliases": {patched("[{op: add, path: /spec/x, value: {a: "+aliases+"}}]", ofExceptions), lengthy},
		"a large file often":      {large(11), "files or KiB"},
		"a large patch for many": {map[string]string{"k/kustomization.yaml": "resources: [e.yaml]\npatches: [{path: p.yaml, target: {kind: PolicyException}}]", "k/e.yaml": many,
			"k/p.yaml": "[{op: add, path: /spec/x, value: " + strings.Repeat("x", 900_000) + "}]"}, "files or KiB"},
		"copies":     {patched(strings.Repeat("- {op: copy, from: /spec/exceptions, path: /spec/exceptions/-}\n", 32), ofExceptions), lengthy},
		"components": {files: components},
		"overlays":   {overlays, "includes more than"},
		"cycle": {map[string]string{"a/kustomization.yaml": "resources: [../b, e.yaml]", "b/kustomization.yaml": "resources: [../a, f.yaml]", "a/e.yaml": exceptionFile, "b/f.yaml": "{}",
			"app.yaml": strings.Replace(application(""), "path: k", "path: a", 1)}, "includes itself"},
		"long":    {flux(fmt.Sprintf(attacked, ", annotations: {a: '"+strings.Repeat("${A}", 1000)+"'}")), "after substitution, it is larger than"},
		"aliases": {map[string]string{"e.yaml": fmt.Sprintf(attacked, ", labels: {a: &a "+strings.Repeat("x", 500_000)+", b: ["+strings.Repeat("*a, ", 5_000)+"]}")}, "when its aliases are written out"},
		"replace": {flux(fmt.Sprintf(attacked, ", annotations: {a: '${A//x/${A//x/${A}}}'}")), "does not substitute ${NAME/OLD/NEW}"},
	} {
		t.Run(name, func(t *testing.T) {
			p := plan(t, c.files)
			switch {
			case c.want == "" && len(p.Adopted) == 1:
			case c.want != "" && len(p.Adopted) == 0 && len(p.Problems) > 0 && strings.Contains(p.Problems[0].Message, c.want):
			default:
				t.Errorf("the plan:\n%s", describe(p))
			}
		})
	}
}

// TestRefusedHasNoSay: a refused exception does not raise the maximum lifetime.
func TestRefusedHasNoSay(t *testing.T) {
	refused := strings.NewReplacer("name: web", "name: polex", "[Pod]", "[PolicyException]").Replace(fmt.Sprintf(attacked, `, annotations: {polex.dev/expires-at: "2250-01-01T00:00:00Z"}`))
	p := plan(t, map[string]string{"e.yaml": exceptionFile, "f.yaml": refused})
	if len(p.Adopted) != 1 || len(p.Problems) != 1 || !strings.Contains(string(p.Write[".polex.yaml"]), "\n  maxLifetime: 90d ") {
		t.Errorf("the plan:\n%s\n%s", describe(p), p.Write[".polex.yaml"])
	}
}

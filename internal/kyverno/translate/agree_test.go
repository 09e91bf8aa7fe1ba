package translate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// request is one request to the API server, for which Kyverno evaluates policies.
type request struct {
	object          map[string]any
	operation       string
	subresource     string
	user            string
	groups          []string
	namespaceLabels map[string]string // nil: the request has no namespace
}

// oldMatch is a match of kyverno.io with the semantics of Kyverno 1.19.1.
type oldMatch struct{ Any, All []oldFilter }

type oldFilter struct {
	Resources struct {
		Kinds, Names, Namespaces    []string
		Name                        string
		Annotations                 map[string]string
		Selector, NamespaceSelector *metav1.LabelSelector
	}
	Subjects []struct{ Kind, Name, Namespace string }
}

func (m oldMatch) exempts(r request) bool {
	for _, f := range m.Any {
		if f.takes(r) {
			return true
		}
	}
	for _, f := range m.All {
		if !f.takes(r) {
			return false
		}
	}
	return len(m.Any) == 0
}

func (f oldFilter) takes(r request) bool {
	meta := r.object["metadata"].(map[string]any)
	text := func(key string) string { s, _ := meta[key].(string); return s }
	words := func(key string) map[string]string {
		out := map[string]string{}
		m, _ := meta[key].(map[string]any)
		for k, v := range m {
			out[k] = v.(string)
		}
		return out
	}
	kind, namespace, name := r.object["kind"].(string), text("namespace"), text("name")
	isNamespace := kind == "Namespace"
	if isNamespace {
		namespace = name
	}
	if name == "" {
		name = text("generateName")
	}
	res := f.Resources
	switch {
	case res.Kinds != nil && !one(res.Kinds, func(k string) bool { return takesKind(k, r) }),
		res.Name != "" && !like(res.Name, name),
		res.Names != nil && !one(res.Names, func(p string) bool { return like(p, name) }),
		res.Namespaces != nil && !one(res.Namespaces, func(p string) bool { return like(p, namespace) }),
		!annotationsFit(res.Annotations, words("annotations")),
		res.Selector != nil && !selectorFits(res.Selector, words("labels")),
		res.NamespaceSelector != nil && !isNamespace && !selectorFits(res.NamespaceSelector, r.namespaceLabels):
		return false
	}
	for _, s := range f.Subjects {
		switch s.Kind {
		case "User":
			if like(s.Name, r.user) {
				return true
			}
		case "ServiceAccount":
			if like("system:serviceaccount:"+s.Namespace+":"+s.Name, r.user) {
				return true
			}
		case "Group":
			if one(r.groups, func(g string) bool { return like(s.Name, g) }) {
				return true
			}
		}
	}
	return len(f.Subjects) == 0
}

// takesKind evaluates an entry of kinds without a subresource.
func takesKind(entry string, r request) bool {
	group, version, kind := "*", "*", entry
	if parts := strings.Split(entry, "/"); len(parts) == 2 {
		version, kind = parts[0], parts[1]
	} else if len(parts) == 3 {
		group, version, kind = parts[0], parts[1], parts[2]
	}
	apiVersion := r.object["apiVersion"].(string)
	itsGroup, itsVersion, grouped := strings.Cut(apiVersion, "/")
	if !grouped {
		itsGroup, itsVersion = "", apiVersion
	}
	itsKind := r.object["kind"].(string)
	if !like(group, itsGroup) || !like(version, itsVersion) || !like(kind, itsKind) {
		return false
	}
	return r.subresource == "" || r.subresource == "ephemeralcontainers" && apiVersion == "v1" && itsKind == "Pod"
}

func annotationsFit(patterns, actual map[string]string) bool {
	for k, v := range patterns {
		found := false
		for k1, v1 := range actual {
			found = found || like(k, k1) && like(v, v1)
		}
		if !found {
			return false
		}
	}
	return true
}

// selectorFits replaces a pattern by a label that matches it, and evaluates the selector as Kubernetes does.
func selectorFits(selector *metav1.LabelSelector, actual map[string]string) bool {
	selector = selector.DeepCopy()
	for k, v := range selector.MatchLabels {
		if !strings.ContainsAny(k+v, "*?") {
			continue
		}
		delete(selector.MatchLabels, k)
		found := false
		for k1, v1 := range actual {
			if like(k, k1) && like(v, v1) {
				selector.MatchLabels[k1], found = v1, true
			}
		}
		if !found {
			return false
		}
	}
	s, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && s.Matches(labels.Set(actual))
}

func like(pattern, text string) bool {
	switch {
	case pattern == "":
		return text == ""
	case pattern[0] == '*':
		return like(pattern[1:], text) || text != "" && like(pattern, text[1:])
	case text == "":
		return false
	default:
		return (pattern[0] == '?' || pattern[0] == text[0]) && like(pattern[1:], text[1:])
	}
}

func one(list []string, ok func(string) bool) bool {
	for _, item := range list {
		if ok(item) {
			return true
		}
	}
	return false
}

// newConditions are the conditions of a policies.kyverno.io exception as Kyverno evaluates them:
// all have to be true, and with an error nothing is exempt.
type newConditions []cel.Program

func compiled(t *testing.T, source []byte) newConditions {
	t.Helper()
	var doc struct {
		Spec struct {
			MatchConditions []struct{ Expression string }
		}
	}
	must.Do(t, yaml.Unmarshal(source, &doc))
	env := must.Get(cel.NewEnv(cel.Variable("object", cel.DynType), cel.Variable("oldObject", cel.DynType),
		cel.Variable("request", cel.DynType), cel.Variable("namespaceObject", cel.DynType)))(t)
	var all newConditions
	for _, c := range doc.Spec.MatchConditions {
		ast, issues := env.Compile(c.Expression)
		must.That(t, issues.Err() == nil && ast.OutputType() == cel.BoolType, "%s\n%v", c.Expression, issues.Err())
		all = append(all, must.Get(env.Program(ast))(t))
	}
	must.That(t, len(all) != 0, "no condition, which exempts everything")
	return all
}

func (all newConditions) exempts(t *testing.T, r request, absent any) bool {
	t.Helper()
	about := map[string]any{"operation": r.operation, "userInfo": map[string]any{}}
	if r.subresource != "" {
		about["subResource"] = r.subresource
	}
	if r.user != "" {
		about["userInfo"] = map[string]any{"username": r.user, "groups": r.groups}
	}
	vars := map[string]any{"object": r.object, "oldObject": absent, "request": about, "namespaceObject": nil}
	if r.operation == "DELETE" {
		vars["object"], vars["oldObject"] = absent, r.object
	}
	if r.namespaceLabels != nil {
		metadata := map[string]any{"name": "any"}
		if len(r.namespaceLabels) > 0 {
			metadata["labels"] = r.namespaceLabels
		}
		vars["namespaceObject"] = map[string]any{"metadata": metadata}
	}
	for _, c := range all {
		out, _, err := c.Eval(vars)
		if err != nil {
			t.Errorf("evaluate for %v: %v", r, err)
			return false
		}
		if out.Value() != true {
			return false
		}
	}
	return true
}

// requests returns every resource below in every kind of request.
func requests(t *testing.T) []request {
	t.Helper()
	var objects []map[string]any
	for _, line := range strings.Split(strings.TrimSpace(resources), "\n") {
		var object map[string]any
		must.Do(t, yaml.UnmarshalStrict([]byte(line), &object))
		objects = append(objects, object)
	}
	var all []request
	for _, object := range objects {
		namespaces := []map[string]string{nil}
		if object["metadata"].(map[string]any)["namespace"] != nil {
			namespaces = []map[string]string{{}, {"team": "a"}, {"team": "b", "env": "prod"}}
		}
		for _, labels := range namespaces {
			for _, operation := range []string{"CREATE", "DELETE"} {
				for _, subresource := range []string{"", "status", "ephemeralcontainers"} {
					for _, user := range []string{"", "jane", "system:serviceaccount:ci:deployer"} {
						r := request{object: object, operation: operation, subresource: subresource, user: user, namespaceLabels: labels}
						if user == "jane" {
							r.groups = []string{"oncall", "system:authenticated"}
						}
						all = append(all, r)
					}
				}
			}
		}
	}
	return all
}

const resources = `
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: team-a, labels: {app: web, tier: front}, annotations: {why: "because: it's", note: "two\nlines"}}}
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web.v1, namespace: team-b, labels: {app: webby}}}
{apiVersion: apps/v1beta1, kind: Deployment, metadata: {name: webxv1, namespace: team-a, labels: {}}}
{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, namespace: team-a, labels: {app: db, example.com/app: x}}}
{apiVersion: v1, kind: Pod, metadata: {generateName: web-, namespace: team-a, labels: {app: web}}}
{apiVersion: v1, kind: Pod, metadata: {name: "", generateName: web, namespace: team-a}}
{apiVersion: v1, kind: Pod, metadata: {name: web-abc, generateName: db-, namespace: team-ab, annotations: {}}}
{apiVersion: v2, kind: Pod, metadata: {name: web-abc, namespace: team-a}}
{apiVersion: example.com/v1, kind: Pod, metadata: {name: web, namespace: team-a, annotations: {why: ""}}}
{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: Web, namespace: TEAM-A, labels: {app: WEB}}}
{apiVersion: v1, kind: Namespace, metadata: {name: team-a, labels: {team: b}}}
{apiVersion: v1, kind: Namespace, metadata: {name: team-c}}
{apiVersion: example.com/v1, kind: Namespace, metadata: {name: team-c, namespace: team-a}}
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: web, labels: {app: web, app2: web}}}
`

// matches are matches that translate without notes.
var matches = []string{
	`any: [{resources: {kinds: [Deployment], names: [web], namespaces: [team-a]}}]`,
	`any: [{resources: {kinds: [apps/v1/Deployment], name: web*}}]`,
	`any: [{resources: {kinds: [v1/Pod]}}]`,
	`any: [{resources: {kinds: ["*/Pod"], names: [web-abc]}}]`,
	`any: [{resources: {kinds: ["/v1/Pod"]}}]`,
	`any: [{resources: {kinds: ["/v?/Pod"]}}]`,
	`any: [{resources: {kinds: ["v1/*"], namespaces: [team-a]}}]`,
	`any: [{resources: {kinds: ["?*/v1/*"], namespaces: ["team-?"]}}]`,
	`any: [{resources: {kinds: ["*.k8s.io/v1/Ingress"]}}]`,
	`any: [{resources: {kinds: [apps/*/Deployment, Stateful*], namespaces: [team-a, team-b]}}]`,
	`any: [{resources: {kinds: ["apps/v1*/Deployment"]}}]`,
	`any: [{resources: {kinds: ["Deploymen?", Pod]}}]`,
	`any: [{resources: {kinds: ["*"], names: [web]}}]`,
	`any: [{resources: {names: [web]}}]`,
	`any: [{resources: {names: [web-]}}]`,
	`any: [{resources: {names: [web.v1, "d?"]}}]`,
	`any: [{resources: {names: ["web.v?"]}}]`,
	`any: [{resources: {names: ["*", web], kinds: [Pod]}}]`,
	`any: [{resources: {name: "?*b"}}]`,
	`any: [{resources: {namespaces: [team-a]}}]`,
	`any: [{resources: {namespaces: ["team-?"]}}]`,
	`any: [{resources: {namespaces: ["*"], kinds: [Pod]}}]`,
	`any: [{resources: {namespaces: [""]}}]`,
	`any: [{resources: {namespaces: ["", "team-b", "*-ab"]}}]`,
	`any: [{resources: {kinds: [Namespace], namespaces: [team-c]}}]`,
	`any: [{resources: {kinds: [v1/Namespace], names: [team-c]}}]`,
	`any: [{resources: {annotations: {why: "because*"}}}]`,
	`any: [{resources: {annotations: {why: "*", note: "two*lines"}}}]`,
	`any: [{resources: {annotations: {"*": "?*"}}}]`,
	`any: [{resources: {annotations: {why: "because: it's"}}}]`,
	`any: [{resources: {annotations: {why: ""}}}]`,
	`any: [{resources: {selector: {matchLabels: {app: web}}}}]`,
	`any: [{resources: {selector: {matchLabels: {app: "web*", tier: "*"}}}}]`,
	`any: [{resources: {selector: {matchLabels: {"ap?*": "we?"}}}}]`,
	`any: [{resources: {selector: {matchLabels: {"*/app": "*", app: db}}}}]`,
	`any: [{resources: {selector: {matchLabels: {"app2": "*"}}}}]`,
	`any: [{resources: {selector: {matchExpressions: [{key: app, operator: In, values: [web, db]}]}}}]`,
	`any: [{resources: {selector: {matchExpressions: [{key: app, operator: NotIn, values: [web]}]}}}]`,
	`any: [{resources: {selector: {matchExpressions: [{key: tier, operator: Exists}]}}}]`,
	`any: [{resources: {selector: {matchLabels: {app: web}, matchExpressions: [{key: tier, operator: DoesNotExist}]}}}]`,
	`any: [{resources: {selector: {}, names: [web]}}]`,
	`any: [{resources: {namespaceSelector: {matchLabels: {team: a}}}}]`,
	`any: [{resources: {kinds: [Pod], namespaceSelector: {matchLabels: {team: "?"}}}}]`,
	`any: [{resources: {kinds: [Namespace, Pod], namespaceSelector: {matchExpressions: [{key: env, operator: Exists}]}}}]`,
	`any: [{resources: {namespaceSelector: {matchExpressions: [{key: env, operator: DoesNotExist}, {key: team, operator: NotIn, values: [a]}]}}}]`,
	`any: [{resources: {kinds: [Pod]}}, {resources: {names: [web], namespaces: [team-a]}}]`,
	`all: [{resources: {kinds: [Pod, Deployment]}}, {resources: {namespaces: [team-a], names: ["web*"]}}]`,
	`all: [{resources: {names: ["web*"]}}]`,
	`any: [{resources: {names: [web]}, subjects: [{kind: User, name: jane}]}]`,
	`any: [{subjects: [{kind: ServiceAccount, name: "deploy*", namespace: ci}]}]`,
	`any: [{resources: {names: [web]}, subjects: [{kind: Group, name: "on*"}, {kind: ServiceAccount, name: deployer, namespace: ci}]}]`,
	`all: [{resources: {names: [web]}}, {subjects: [{kind: User, name: "ja??"}]}]`,
}

// TestTranslationExemptsTheSame evaluates both forms for every request. Each match has to select
// some requests and not all, because otherwise the comparison proves nothing.
func TestTranslationExemptsTheSame(t *testing.T) {
	all := requests(t)
	for _, match := range matches {
		t.Run(match, func(t *testing.T) {
			var old oldMatch
			must.Do(t, yaml.Unmarshal([]byte(match), &old))
			source := plainly(t, matching(match))
			conditions := compiled(t, []byte(source))
			exempt := 0
			for _, r := range all {
				want := old.exempts(r)
				if want {
					exempt++
				}
				for _, absent := range []any{nil, map[string]any(nil)} {
					if got := conditions.exempts(t, r, absent); got != want {
						t.Fatalf("%s\nexempts %v: %v, and the old form: %v", source, fmt.Sprint(r), got, want)
					}
				}
			}
			expect.That(t, exempt != 0 && exempt != len(all),
				"%d of %d requests are exempt: the match shows nothing", exempt, len(all))
		})
	}
}

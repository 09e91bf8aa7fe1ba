//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/test/documents"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/modcache"
	"github.com/polex-dev/polex/test/must"
)

var long = flag.Bool("long", false, "read every policy of TestConformance, not every sixteenth")

type (
	object = map[string]any
	list   = []any
)

// ruleSet is a policy, objects that its rules match and some more, and exceptions from its rules.
type ruleSet struct {
	policy, spec object
	name         string // as exceptions write it
	objects      []object
	exceptions   []string
}

// TestConformance: for each rule of the policies in Kyverno's own tests, exceptions that polex calls
// never-matches exempt nothing in Kyverno's own program.
func TestConformance(t *testing.T) {
	samples := kyvernosSamples(t)
	if !*long {
		for i := range samples {
			if i*16 < len(samples) {
				samples[i] = samples[i*16]
			}
		}
		samples = samples[:len(samples)/16]
	}
	never, exempt, neither := 0, 0, 0
	for batch := range slices.Chunk(samples, 25) {
		var policies, exceptions, resources bytes.Buffer
		written, count := map[string]bool{}, 0
		write := func(to *bytes.Buffer, o object) {
			text := string(must.Get(yaml.Marshal(o))(t))
			metadata := o["metadata"].(object)
			if key := fmt.Sprint(o["kind"], metadata["namespace"], metadata["name"]); !written[key] {
				written[key] = true
				to.WriteString("---\n" + text)
			}
		}
		for _, s := range batch {
			write(&policies, s.policy)
			for _, o := range s.objects {
				write(&resources, o)
			}
			for _, text := range s.exceptions {
				fmt.Fprintf(&exceptions, "---\n"+text+"\n", fmt.Sprintf("e%d", count))
				count++
			}
		}
		exempting := exemptingIn(t, policies.String(), exceptions.String(), resources.String())
		checker := must.Get(shape.New(shape.Config{Policies: shape.ReadPolicies(documents.All(t, policies.String()))}))(t)
		for _, d := range documents.All(t, exceptions.String()) {
			isDead := slices.ContainsFunc(checker.Check(d, time.Now()), func(f shape.Finding) bool { return f.Reason == shape.ReasonNeverMatches })
			switch isExempting := exempting[d.Identity().Name]; {
			case isDead && isExempting:
				t.Errorf("polex says that it never matches, and Kyverno exempts:\n%s", d.Source())
			case isDead:
				never++
			case isExempting:
				exempt++
			default:
				neither++
			}
		}
	}
	t.Logf("%d policies: %d exceptions never match, %d exempt, %d exempt nothing here", len(samples), never, exempt, neither)
	expect.That(t, never >= 15*len(samples) && exempt >= 8*len(samples), "the test lost its cases, or polex sees less")
}

// kyvernosSamples returns the policies in Kyverno's tests for which its program reports exceptions, without copies.
// Of a rule that generates, it asks the exceptions before the match.
func kyvernosSamples(t *testing.T) (samples []ruleSet) {
	t.Helper()
	seen := map[string]bool{}
	must.Do(t, filepath.WalkDir(filepath.Join(modcache.Dir(t, modcache.Kyverno), "test"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".yaml") {
			return err
		}
		for _, text := range regexp.MustCompile(`(?m)^---.*$`).Split(string(must.Get(os.ReadFile(path))(t)), -1) {
			s := ruleSet{name: fmt.Sprintf("p%d", len(samples))}
			_ = yaml.UnmarshalStrict([]byte(text), &s.policy) // some are wrong
			kind, group := fmt.Sprint(s.policy["kind"]), strings.Split(fmt.Sprint(s.policy["apiVersion"]), "/")[0]
			s.spec, _ = s.policy["spec"].(object)
			content := kind + group + string(must.Get(json.Marshal(s.spec))(t))
			if seen[content] || !strings.HasSuffix(kind, "Policy") {
				continue
			}
			seen[content] = true
			metadata, _ := s.policy["metadata"].(object)
			s.policy["metadata"] = object{"name": s.name, "annotations": metadata["annotations"]}
			if kind == "Policy" || strings.HasPrefix(kind, "Namespaced") {
				s.policy["metadata"].(object)["namespace"] = "default"
			}
			switch {
			case group == "kyverno.io" && kind == "Policy":
				s.name = "default/" + s.name
				s.rules()
			case group == "kyverno.io" && kind == "ClusterPolicy":
				s.rules()
			case group == "policies.kyverno.io" && slices.Contains([]string{"ValidatingPolicy", "NamespacedValidatingPolicy", "ImageValidatingPolicy", "MutatingPolicy"}, kind):
				s.constraints(kind)
			}
			if len(s.exceptions) > 0 {
				samples = append(samples, s)
			}
		}
		return nil
	}))
	return samples
}

// someKinds are in the objects and exceptions of every set.
var someKinds = []string{"Pod", "ConfigMap", "Deployment", "CronJob", "ClusterRole"}

func (s *ruleSet) rules() {
	rules, _ := s.spec["rules"].(list)
	for _, r := range rules {
		rule, _ := r.(object)
		match, _ := rule["match"].(object)
		anyOf, _ := match["any"].(list)
		allOf, _ := match["all"].(list)
		delete(rule, "preconditions") // Kyverno asks them before the exceptions
		delete(rule, "context")
		for _, f := range append(slices.Concat(anyOf, allOf), match) {
			filter, _ := f.(object)
			if resources, _ := filter["resources"].(object); resources != nil && rule["generate"] == nil {
				s.filter(fmt.Sprint(rule["name"]), resources)
			}
		}
	}
}

func (s *ruleSet) filter(rule string, resources object) {
	first := func(field, otherwise string) string {
		if texts := textsOf(resources[field]); len(texts) > 0 {
			return strings.Trim(strings.NewReplacer("*", "a", "?", "b").Replace(texts[0]), "-.")
		}
		return otherwise
	}
	name, namespace := first("names", strings.ReplaceAll(s.name, "/", "-")), first("namespaces", "default")
	places := []string{"", ", namespaces: [" + namespace + "]", ", namespaces: [elsewhere]", ", names: [" + name + "]", ", names: [nobody]", ", operations: [CREATE]", ", operations: [DELETE]"}
	add := func(rule, kind, place string) {
		s.exceptions = append(s.exceptions, fmt.Sprintf("apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: %%s, namespace: a}\n"+
			"spec: {exceptions: [{policyName: %q, ruleNames: [%q]}], match: {any: [{resources: {kinds: [%q]%s}}]}}", s.name, rule, kind, place))
	}
	selector, _ := resources["selector"].(object)
	for i, text := range textsOf(resources["kinds"]) {
		kind := kyverno.ParseKind(text).Kind
		for j, form := range append([]string{kind, strings.ToLower(kind), kind + "s", "v9/" + kind, "*/" + kind, "other.io/v1/" + kind, kind + "/status", "*"}, someKinds...) {
			add(rule, form, "")
			add(rule, form, places[(i+j)%len(places)])
		}
		for _, place := range places {
			add(rule, text, place)
		}
		for _, made := range []string{"autogen-" + rule, "autogen-cronjob-" + rule, "*"} {
			add(made, text, "")
			add(made, "Deployment", "")
			add(made, "CronJob", "")
		}
		s.object(kind, name, namespace, selector["matchLabels"])
	}
	for _, kind := range someKinds {
		s.object(kind, name, namespace, selector["matchLabels"])
	}
}

func (s *ruleSet) constraints(kind string) {
	add := func(condition string) {
		s.exceptions = append(s.exceptions, fmt.Sprintf("apiVersion: policies.kyverno.io/v1\nkind: PolicyException\nmetadata: {name: %%s, namespace: a}\n"+
			"spec: {policyRefs: [{name: %s, kind: %s}], matchConditions: [{name: a, expression: %q}]}", s.name, kind, condition))
	}
	constraints, _ := s.spec["matchConstraints"].(object)
	rules, _ := constraints["resourceRules"].(list)
	for _, r := range rules {
		rule, _ := r.(object)
		for _, resource := range textsOf(rule["resources"]) {
			resource, _, _ = strings.Cut(resource, "/")
			for _, k := range append(manifest.KindsOf(resource), someKinds...) {
				s.object(k, "web", "default", object{"app": "web"})
				is := "object.kind == '" + k + "'"
				for _, rest := range []string{"", " && request.operation == 'CREATE'", " && request.operation == 'DELETE'", " && object.metadata.name == 'nobody'"} {
					add(is + rest)
				}
				add(strings.ToLower(is))
				add("object.kind != '" + k + "' && object.metadata.namespace == 'default'")
				add("request.resource.resource == '" + manifest.Plural(k) + "'")
			}
			for _, version := range []string{"v1", "apps/v1", "batch/v1beta1"} {
				add("object.apiVersion == '" + version + "'")
			}
			add("request.kind.group == 'apps' && object.kind in ['Deployment', 'Pod']")
		}
	}
}

func textsOf(value any) (texts []string) {
	items, _ := value.(list)
	for _, item := range items {
		texts = append(texts, fmt.Sprint(item))
	}
	return texts
}

// object adds an object of a kind of Kubernetes.
func (s *ruleSet) object(kind, name, namespace string, labels any) {
	pod := object{"containers": list{object{"name": "a", "image": "registry.example.com/a:latest"}}}
	template := object{"template": object{"metadata": object{"labels": labels}, "spec": pod}}
	specs := map[string]any{"Pod": pod, "CronJob": object{"jobTemplate": object{"spec": template}}}
	for kind := range manifest.PodControllers {
		if kind != "CronJob" {
			specs[kind] = template
		}
	}
	for _, group := range slices.AppendSeq([]string{"apps", "autoscaling", "batch", "coordination.k8s.io", "discovery.k8s.io", "policy"}, maps.Keys(manifest.ClusterScopedKinds)) {
		if manifest.KindOf(group, manifest.Plural(kind)) != kind {
			continue
		}
		metadata := object{"name": name, "labels": labels}
		if !manifest.IsClusterScoped(group, kind) {
			metadata["namespace"] = namespace
		}
		s.objects = append(s.objects, object{"apiVersion": strings.TrimPrefix(group+"/v1", "/"), "kind": kind, "metadata": metadata, "spec": specs[kind]})
	}
}

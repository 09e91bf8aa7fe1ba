package cluster

import (
	"context"
	"crypto/sha256"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/polex-dev/polex/internal/guard"
	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/pkg/exception"
)

// DefinitionKind is CustomResourceDefinition.
var DefinitionKind = schema.GroupVersionKind{
	Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition",
}

// Plural is the resource of exceptions in the paths of the API. It is fixed by the name of their
// definition, but the names in its status decide what discovery and admission see.
const Plural = "policyexceptions"

// DefinitionName returns the name of the definition of PolicyException in a group.
func DefinitionName(group string) string { return Plural + "." + group }

// Definitions watches how the cluster defines exceptions. Of each definition it keeps only what a
// change is compared with.
type Definitions struct {
	API   *API
	Known *guard.Definitions
	// Changed receives each new state of a definition, and the one before. Kyverno may have read
	// exceptions by a state that no longer exists. "" is the one before the first.
	Changed  func(kind exception.GroupKind, before, state string)
	Watching func(kind exception.GroupKind, yes bool) // receives whether changes are seen
	Failed   func(error)                              // receives an error once until it is solved
}

// Run watches the definitions until the context ends.
func (d *Definitions) Run(ctx context.Context) {
	var running sync.WaitGroup
	for _, kind := range kyverno.Kinds() {
		name := DefinitionName(kind.Group)
		feed := &feed{follower: &definition{Definitions: d, kind: kind}, api: d.API, name: "the definition " + name,
			field: "metadata.name=" + name, failed: d.Failed}
		running.Go(func() { feed.run(ctx) })
	}
	running.Wait()
}

// definition is one watched definition.
type definition struct {
	*Definitions
	kind   exception.GroupKind
	before string // the last state; "": it was not established
}

func (d *definition) find(context.Context) (resource, error) {
	root, version := "/apis/"+DefinitionKind.Group, DefinitionKind.Version
	return resource{root: root, version: version, plural: "customresourcedefinitions"}, nil
}

func (d *definition) sees(watching bool, _ error) {
	d.Known.Watched(d.kind, watching)
	d.Watching(d.kind, watching)
}

// replace records the listed definition, or that there is none.
func (d *definition) replace(list []any) {
	if len(list) == 0 {
		d.change(nil, true)
	}
	for _, o := range list {
		d.change(o.(*unstructured.Unstructured), false)
	}
}

// change records a new, changed or deleted definition.
func (d *definition) change(is *unstructured.Unstructured, gone bool) {
	before := d.before
	switch {
	case gone:
		d.Known.Set(d.kind, guard.Definition{})
		if d.before = ""; before != "" {
			d.Changed(d.kind, before, "deleted")
		}
	case is.GetName() != DefinitionName(d.kind.Group): // the API server ignores the field selector
	default:
		state := definitionState(is)
		d.Known.Set(d.kind, guard.Definition{Conversion: Conversion(is), State: state})
		if before != state && (before != "" || established(is)) {
			d.before = state
			d.Changed(d.kind, before, state)
		}
	}
}

// definitionState returns a text that differs between two definitions that serve exceptions differently. A
// state that was there for a moment only shows in the generation.
func definitionState(d *unstructured.Unstructured) string {
	names, _, _ := unstructured.NestedMap(d.Object, "status", "acceptedNames")
	stored, _, _ := unstructured.NestedSlice(d.Object, "status", "storedVersions")
	conditions, _, _ := unstructured.NestedSlice(d.Object, "status", "conditions")
	for i, item := range conditions {
		condition, _ := item.(map[string]any)
		conditions[i] = []any{condition["type"], condition["status"]} // without times and messages
	}
	status := sha256.Sum256(fmt.Append(nil, names, stored, conditions)) // fmt sorts the keys of maps
	return fmt.Sprintf("generation %d, uid %s, status %.6x", d.GetGeneration(), d.GetUID(), status)
}

// acceptedNames are the names of exceptions in the status of their definition. If one of them is
// missing, the API server serves no exceptions. Kyverno cannot read a list of another kind.
var acceptedNames = map[string]string{
	"plural": Plural, "singular": "policyexception", "kind": exception.Kind, "listKind": exception.Kind + "List",
}

// Conversion returns the cause for which Kyverno may see another object than the guard, besides the
// apiVersion; "" is no cause. The cause is a webhook, or a served version with another schema: the
// API server drops fields that the schema does not have, and adds defaults. Other names of a served
// definition are a cause too: the API server admits and stores exceptions as another resource, and
// does not ask the guard. While the API server does not serve the version that Kyverno reads, Kyverno
// keeps the exceptions that it has read, also after their end.
func Conversion(definition *unstructured.Unstructured) string {
	named := false
	for field, want := range acceptedNames {
		name, _, err := unstructured.NestedString(definition.Object, "status", "acceptedNames", field)
		named = named || name != ""
		if err != nil || name != want && (name != "" || established(definition)) {
			return fmt.Sprintf("the %s %q in its status, which is not %q,", field, name, want)
		}
	}
	if named && !established(definition) {
		return "its status, which has no single condition Established that is True,"
	}
	if by := unwatched(definition); by != "" {
		return by
	}
	strategy, _, err := unstructured.NestedString(definition.Object, "spec", "conversion", "strategy")
	if err == nil && (strategy == "None" || strategy == "") {
		return otherSchema(definition)
	}
	where := "spec.conversion.webhook"
	client := []string{"spec", "conversion", "webhook", "clientConfig"}
	if url, _, _ := unstructured.NestedString(definition.Object, append(client, "url")...); url != "" {
		where = url
	} else if service, _, _ := unstructured.NestedMap(definition.Object, append(client, "service")...); service != nil {
		where = fmt.Sprintf("the Service %v/%v", service["namespace"], service["name"])
	}
	return fmt.Sprintf("a webhook (%q)", where)
}

// unwatched names the version that Kyverno reads, unless the definition serves it.
func unwatched(definition *unstructured.Unstructured) string {
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	want := kyverno.WatchedVersion(exception.GroupKind{Group: group, Kind: exception.Kind})
	if want == "" || Serves(definition, want) {
		return ""
	}
	return fmt.Sprintf("the version %q, which Kyverno reads and the API server does not serve,", want)
}

// Serves reports whether a definition serves a version.
func Serves(definition *unstructured.Unstructured, name string) bool {
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	return slices.ContainsFunc(versions, func(item any) bool {
		version, _ := item.(map[string]any)
		return version["name"] == name && version["served"] == true
	})
}

// established reports whether the API server serves a definition. It takes the first condition of a
// type, and other clients another one, so there must not be two.
func established(definition *unstructured.Unstructured) bool {
	var all []any
	conditions, _, _ := unstructured.NestedSlice(definition.Object, "status", "conditions")
	for _, c := range conditions {
		if condition, _ := c.(map[string]any); condition["type"] == "Established" {
			all = append(all, condition["status"])
		}
	}
	return len(all) == 1 && all[0] == "True"
}

// otherSchema names a served version with another schema than the first one. In Kyverno 1.11 to
// 1.19, all schemas are equal except for their descriptions. Other parts of a definition, such as its
// annotations, the subresources and the printed columns, do not change what a client reads.
func otherSchema(definition *unstructured.Unstructured) string {
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	var first, named any
	for _, item := range versions {
		version, _ := item.(map[string]any)
		if version["served"] != true {
			continue
		}
		schema := undescribed(version["schema"])
		switch {
		case named == nil:
			first, named = schema, version["name"]
		case !reflect.DeepEqual(schema, first):
			return fmt.Sprintf("the schema of version %q, which is not that of %q,", version["name"], named)
		}
	}
	return ""
}

// undescribed returns a schema without descriptions.
func undescribed(schema any) any {
	switch v := schema.(type) {
	case map[string]any:
		plain := make(map[string]any, len(v))
		for key, value := range v {
			if _, isText := value.(string); key == "description" && isText {
				continue
			}
			plain[key] = undescribed(value)
		}
		return plain
	case []any:
		plain := make([]any, len(v))
		for i, item := range v {
			plain[i] = undescribed(item)
		}
		return plain
	}
	return schema
}

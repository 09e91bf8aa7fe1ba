package celpeer

import (
	"bytes"
	"fmt"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/test/must"
)

// definition is the definition of exceptions as an API server stores it.
const definition = `
metadata: {name: policyexceptions.kyverno.io}
spec:
  group: kyverno.io
  scope: Namespaced
  conversion: {strategy: None}
  names: {plural: policyexceptions, singular: policyexception, kind: PolicyException, listKind: PolicyExceptionList}
  versions: [{name: v2, served: true, storage: true}, {name: v2beta1, served: true, storage: false}, {name: v2alpha1, served: false, storage: false}]
status:
  acceptedNames: {plural: policyexceptions, singular: policyexception, kind: PolicyException, listKind: PolicyExceptionList}
  conditions: [{type: NamesAccepted, status: "True"}, {type: Established, status: "True"}]
  storedVersions: [v2]
`

// changed returns the definition with replaced texts, in pairs.
func changed(t *testing.T, pairs ...string) map[string]any {
	t.Helper()
	text := []byte(definition)
	for i := 0; i < len(pairs); i += 2 {
		if !bytes.Contains(text, []byte(pairs[i])) {
			t.Fatalf("the definition has no %q", pairs[i])
		}
		text = bytes.ReplaceAll(text, []byte(pairs[i]), []byte(pairs[i+1]))
	}
	var object map[string]any
	must.Do(t, yaml.Unmarshal(text, &object))
	return object
}

// TestDefinitions changes the definition of exceptions in every way that could keep Kyverno from reading them, or show
// it other ones. Administrators of protect may do that, and nobody with static files.
func TestDefinitions(t *testing.T) {
	static := compiled(t, "static/policies/definitions.yaml")
	request := func(operation string) map[string]any {
		return map[string]any{"operation": operation, "resource": map[string]any{"resource": "customresourcedefinitions"}}
	}
	for _, tc := range []struct {
		name    string
		change  []string
		allowed bool
	}{
		{"nothing", nil, true},
		{"an annotation", []string{"metadata: {", "metadata: {annotations: {api-approved.kubernetes.io: https://a}, "}, true},
		{"Kyverno's version is not served", []string{"{name: v2, served: true", "{name: v2, served: false"}, false},
		{"another version is not served", []string{"{name: v2beta1, served: true", "{name: v2beta1, served: false"}, false},
		{"a version goes", []string{", {name: v2beta1, served: true, storage: false}", ""}, false},
		{"a version that was not served goes", []string{", {name: v2alpha1, served: false, storage: false}", ""}, false}, // objects may be stored in it
		{"a version that is not served is stored", []string{"storage: true", "storage: false", "{name: v2alpha1, served: false, storage: false", "{name: v2alpha1, served: false, storage: true"}, false},
		{"a new version that is not served is stored", []string{"storage: true", "storage: false", "versions: [", "versions: [{name: v9, served: false, storage: true}, "}, false},
		{"a version is served", []string{"{name: v2alpha1, served: false", "{name: v2alpha1, served: true"}, true},
		{"a new version", []string{"versions: [", "versions: [{name: v3, served: true, storage: false}, "}, true},
		{"a version has another name", []string{"{name: v2,", "{name: v3,"}, false},
		{"a second version of the name", []string{"versions: [{name: v2, served: true", "versions: [{name: v2, served: false, storage: false}, {name: v2, served: true"}, true}, // the API server refuses it
		{"another version is stored", []string{"storage: true", "storage: false", "{name: v2beta1, served: true, storage: false", "{name: v2beta1, served: true, storage: true"}, true},
		{"a version is deprecated", []string{"{name: v2,", "{name: v2, deprecated: true, deprecationWarning: a,"}, true},
		{"fields are selectable", []string{"{name: v2,", "{name: v2, selectableFields: [{jsonPath: .spec.a}],"}, true},
		{"a webhook converts", []string{"strategy: None", "strategy: Webhook"}, false},
		{"no conversion", []string{"conversion: {strategy: None}", "preserveUnknownFields: false"}, true},
		{"another scope", []string{"scope: Namespaced", "scope: Cluster"}, false},
		{"another kind", []string{"kind: PolicyException,", "kind: Thing,"}, false},
		{"lists of another kind", []string{"listKind: PolicyExceptionList", "listKind: Things"}, false},
		{"lists of the default kind", []string{", listKind: PolicyExceptionList", ""}, true},
		{"more names", []string{"names: {", "names: {shortNames: [a], categories: [b], "}, true},
		{"no version", []string{"served: true", "served: false"}, false},
	} {
		if got := static.evaluate(t, request("UPDATE"), changed(t, tc.change...), changed(t)); got != tc.allowed {
			t.Errorf("%s: allowed: %t", tc.name, got)
		}
	}
	if !static.evaluate(t, request("CREATE"), changed(t), nil) {
		t.Error("the definition cannot be created")
	}
	if static.evaluate(t, request("DELETE"), nil, changed(t)) {
		t.Error("the definition can be deleted")
	}
}

// TestStatus changes the status of the definition. The API server writes it as every user may.
func TestStatus(t *testing.T) {
	protect := compiled(t, "protect/definitions.yaml")
	const established = `{type: Established, status: "True"}`
	off := func(conditions string) []string { return []string{established, conditions} }
	for _, tc := range []struct {
		name     string
		old, new []string
		allowed  bool
	}{
		{"nothing", nil, nil, true},
		{"a migration", nil, []string{"storedVersions: [v2]", "storedVersions: [v2, v2beta1]"}, true},
		{"a version is no longer stored", []string{"storedVersions: [v2]", "storedVersions: [v2, v2beta1]"}, nil, false},
		{"no version is stored", nil, []string{"storedVersions: [v2]", "storedVersions: []"}, false},
		{"nobody says which versions are stored", nil, []string{"\n  storedVersions: [v2]", ""}, false},
		{"other versions are stored", nil, []string{"storedVersions: [v2]", "storedVersions: [v2beta1]"}, false},
		{"the order of stored versions", []string{"storedVersions: [v2]", "storedVersions: [v2, v2beta1]"}, []string{"storedVersions: [v2]", "storedVersions: [v2beta1, v2]"}, true},
		{"names conflict", nil, []string{`NamesAccepted, status: "True"`, `NamesAccepted, status: "False"`}, true},
		{"it ends", nil, []string{"conditions: [", `conditions: [{type: Terminating, status: "True"}, `}, true},
		{"not established", nil, off(`{type: Established, status: "False"}`), false},
		{"unknown", nil, off(`{type: Established, status: Unknown}`), false},
		{"no such condition", nil, off(`{type: Other, status: "True"}`), false},
		{"no conditions", nil, []string{"\n  conditions: [{type: NamesAccepted, status: \"True\"}, " + established + "]", ""}, false},
		{"conditions are null", nil, []string{"[{type: NamesAccepted, status: \"True\"}, " + established + "]", "null"}, false},
		{"first false", nil, off(`{type: Established, status: "False"}, ` + established), false},
		{"then false", nil, off(established + `, {type: Established, status: "False"}`), false},
		{"twice", nil, off(established + ", " + established), false},
		{"twice, and never", off(`{type: Established, status: "False"}`), off(`{type: Established, status: "False"}, {type: Established, status: "False"}`), false},
		{"once again", off(established + ", " + established), nil, true},
		{"installed", off(`{type: Established, status: "False"}`), nil, true},
		{"installing", []string{"\n  conditions: [{type: NamesAccepted, status: \"True\"}, " + established + "]", "\n  conditions: null"}, off(`{type: Established, status: "False"}`), true},
	} {
		if got := protect.evaluate(t, statusUpdate(), changed(t, tc.new...), changed(t, tc.old...)); got != tc.allowed {
			t.Errorf("%s: allowed: %t", tc.name, got)
		}
	}
	for _, field := range []string{"plural", "singular", "kind", "listKind"} {
		for _, value := range []any{nil, "", "things"} {
			object := changed(t)
			object["status"].(map[string]any)["acceptedNames"].(map[string]any)[field] = value
			if protect.evaluate(t, statusUpdate(), object, changed(t)) {
				t.Errorf("%s is %q", field, fmt.Sprint(value))
			}
			delete(object["status"].(map[string]any)["acceptedNames"].(map[string]any), field)
			if protect.evaluate(t, statusUpdate(), object, changed(t)) {
				t.Errorf("there is no %s", field)
			}
		}
	}
	// A new definition has no names.
	object := changed(t, off(`{type: Established, status: "False"}`)...)
	object["status"].(map[string]any)["acceptedNames"] = map[string]any{"plural": "", "kind": ""}
	if !protect.evaluate(t, statusUpdate(), object, object) {
		t.Error("a new definition cannot get a status")
	}
}

// TestMigration: Kyverno, Kubernetes and, with static files, everybody may drop a stored version, and
// change nothing else of the status in this way.
func TestMigration(t *testing.T) {
	protect, static := compiled(t, "protect/definitions.yaml"), compiled(t, "static/policies/definitions.yaml")
	before := changed(t, "storedVersions: [v2]", "storedVersions: [v2, v2beta1]")
	for _, tc := range []struct {
		user, group string
		change      []string
		allowed     bool // with protect
		always      bool // with static files
	}{
		{"system:serviceaccount:kyverno:kyverno-migrate-resources", "system:serviceaccounts:kyverno", nil, true, true},
		{"system:serviceaccount:kube-system:storage-version-migrator-controller", "system:serviceaccounts:kube-system", nil, true, true},
		{"system:kube-controller-manager", "", nil, true, true},
		{"mallory", "system:serviceaccounts", nil, false, true},
		{"system:serviceaccount:kyverno:a", "system:serviceaccounts:kyverno", []string{"plural: policyexceptions, singular: policyexception, kind: PolicyException, listKind: PolicyExceptionList}\n  cond", "plural: things}\n  cond"}, false, false},
		{"system:serviceaccount:kyverno:a", "system:serviceaccounts:kyverno", []string{`Established, status: "True"`, `Established, status: "False"`}, false, false},
	} {
		request := statusUpdate()
		request["userInfo"] = map[string]any{"username": tc.user, "groups": []any{tc.group}}
		if got := protect.evaluate(t, request, changed(t, tc.change...), before); got != tc.allowed {
			t.Errorf("%s, %q: protect allows it: %t", tc.user, tc.change, got)
		}
		if got := static.evaluate(t, request, changed(t, tc.change...), before); got != tc.always {
			t.Errorf("%s, %q: static files allow it: %t", tc.user, tc.change, got)
		}
	}
}

func statusUpdate() map[string]any {
	return map[string]any{"operation": "UPDATE", "subResource": "status", "resource": map[string]any{"resource": "customresourcedefinitions"}}
}

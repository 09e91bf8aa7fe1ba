package trust_test

import (
	"crypto/elliptic"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/trust/publicgood"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

const schemaFile = "../../docs/trustpolicy.schema.json"

func schema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	raw := must.Get(os.ReadFile(schemaFile))(t)
	value := must.Get(jsonschema.UnmarshalJSON(strings.NewReader(string(raw))))(t)
	compiler := jsonschema.NewCompiler()
	must.Do(t, compiler.AddResource("schema.json", value))
	return must.Get(compiler.Compile("schema.json"))(t)
}

// TestSchemaFields: the schema has exactly the fields of the Go types, each with a description.
func TestSchemaFields(t *testing.T) {
	raw := must.Get(os.ReadFile(schemaFile))(t)
	type object struct {
		Description          string
		AdditionalProperties any
		Properties           map[string]struct {
			Description string
			Ref         string `json:"$ref"`
			Type        string
		}
	}
	var tree struct {
		object
		Defs map[string]json.RawMessage `json:"$defs"`
	}
	must.Do(t, json.Unmarshal(raw, &tree))
	objects := map[string]object{"": tree.object}
	for name, def := range tree.Defs {
		var o object
		must.Do(t, json.Unmarshal(def, &o))
		if o.Properties != nil {
			objects[name] = o
		}
	}
	types := map[string]any{"": trust.Config{}, "authority": trust.AuthorityConfig{}, "selectors": trust.Selectors{}, "renewals": trust.RenewalsConfig{}, "github": trust.GitHubConfig{}, "group": trust.GroupConfig{},
		"lifetime": trust.LifetimeConfig{}, "revocation": trust.RevocationConfig{}, "grandfather": trust.Grandfather{}, "allowedMetadata": trust.AllowedMetadata{}}
	if got, want := slices.Sorted(maps.Keys(objects)), slices.Sorted(maps.Keys(types)); !slices.Equal(got, want) {
		t.Fatalf("the schema speaks of %q, and there are %q", got, want)
	}
	for name, o := range objects {
		expect.That(t, o.AdditionalProperties == false, "%q takes other keys too", name)
		var want []string
		if name == "" {
			want = []string{"apiVersion", "kind"}
		}
		for _, field := range reflect.VisibleFields(reflect.TypeOf(types[name])) {
			if !field.Anonymous && field.Name != "_" && field.Tag.Get("json") != "-" {
				name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
				want = append(want, name)
			}
		}
		slices.Sort(want)
		expect.Equal(t, fmt.Sprintf("the keys of %q (-types +schema)", name),
			want, slices.Sorted(maps.Keys(o.Properties)))
		for key, p := range o.Properties {
			if p.Description == "" && !strings.HasPrefix(p.Ref, "#/$defs/selectors/") && key != "apiVersion" && key != "kind" {
				t.Errorf("%q of %q is not explained", key, name)
			}
		}
	}
	var claim struct{ Enum []string }
	must.Do(t, json.Unmarshal(tree.Defs["claim"], &claim))
	expect.Equal(t, "claims (-types +schema)", trust.ClaimNames(), claim.Enum)
}

// everything is a trust policy with all fields.
const everything = `apiVersion: polex.dev/v1alpha1
kind: TrustPolicy
trustedRoot: root.json
threshold: 2
groups:
  - name: platform
    threshold: 1
    authorities: [merge, people]
  - name: security
    threshold: 1
    authorities: [builds]
authorities:
  - name: merge
    issuer: https://token.actions.githubusercontent.com
    subject: https://github.com/acme/exceptions/.github/workflows/merge.yaml@refs/heads/main
    claims: {buildTrigger: push, sourceRepositoryIdentifier: "123456789"}
  - name: people
    issuer: https://accounts.example
    subjectRegexp: .*@acme.example
    limits:
      kinds: [PolicyException.kyverno.io]
      namespaces: [exceptions, team-*]
      exemptedNamespaces: [payments]
      policies: [require-*, shop/probes]
  - name: builds
    issuer: https://accounts.example
    subjectRegexp: https://builds.acme.example/.*
  - name: ci
    keyFile: ci.pub
    insecureWithoutLog: false
kinds: ["*"]
maxLifetime: 90d
lifetimes:
  - {policies: [require-run-as-nonroot], max: 7d}
  - {authorities: [people], max: 4h}
  - {namespaces: [prod-*], exemptedNamespaces: [shop-*], kinds: [PolicyException.policies.kyverno.io], max: 1d12h}
renewals: {max: 2, maxLifetime: 2h, require: [ticket, owner], requireApprovals: 3, requireNewApprover: true}
allowUnbounded: true
revoked:
  - messageDigest: sha256:0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a
    because: it was too wide
  - certificate: sha256:0A0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a
  - {authority: ci, signedBefore: "2026-01-01T00:00:00Z"}
allowedMetadata:
  labels: {app.kubernetes.io/managed-by: Helm}
  annotations: {meta.helm.sh/release-name: exceptions}
`

const allRenewals = "{max: 2, maxLifetime: 2h, require: [ticket, owner], requireApprovals: 3, requireNewApprover: true}"

// beside writes the files that a policy can name into a folder.
func beside(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"root.json": string(publicgood.TrustedRootJSON()), "ci.pub": keyPEM(t, elliptic.P256()),
	} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

// load reads a trust policy like a command.
func load(text, dir string) (*trust.Policy, *exception.Document, error) {
	doc, err := exception.ParseUndeployed([]byte(text), "policy.yaml")
	if err != nil {
		return nil, nil, err
	}
	config, err := trust.Read(doc, dir)
	if err != nil {
		return nil, doc, err
	}
	p, err := trust.Load(config)
	return p, doc, err
}

func validate(t testing.TB, s *jsonschema.Schema, doc *exception.Document) error {
	t.Helper()
	raw := must.Get(json.Marshal(doc.Object()))(t)
	value := must.Get(jsonschema.UnmarshalJSON(strings.NewReader(string(raw))))(t)
	return s.Validate(value)
}

// TestSchemaExamples: a policy that the schema rejects does not load, and one that loads passes the schema.
func TestSchemaExamples(t *testing.T) {
	s, dir := schema(t), beside(t)
	inline := "|\n      " + strings.ReplaceAll(strings.TrimSpace(keyPEM(t, elliptic.P256())), "\n", "\n      ") + "\n"
	const least = "apiVersion: polex.dev/v1alpha1\nkind: TrustPolicy\nauthorities:\n  - {issuer: https://accounts.example, subject: anna@acme.example}\n"
	good := map[string]string{
		"everything": everything, "the least": least,
		"a new approver":  strings.Replace(everything, allRenewals, "{requireNewApprover: true}", 1),
		"lists of claims": strings.Replace(everything, "claims: {buildTrigger: push,", "claims: {buildTrigger: [push, workflow_dispatch],", 1),
		"an inline key":   "apiVersion: polex.dev/v1alpha1\nkind: TrustPolicy\nauthorities:\n  - key: " + inline,
	}
	for name, text := range good {
		p, doc, err := load(text, dir)
		if err != nil || len(p.Authorities()) == 0 {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := validate(t, s, doc); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	const authority, schemaToo, loadingAlone = "  - name: merge\n", true, false
	for _, tc := range []struct {
		old, with string
		schema    bool
	}{
		{"polex.dev/v1alpha1", "polex.dev/v1", schemaToo},
		{"kind: TrustPolicy", "kind: Config", schemaToo},
		{"kind: TrustPolicy\n", "", schemaToo},
		{"threshold: 2\n", "treshold: 2\n", schemaToo},
		{"threshold: 2\n", "threshold: 0\n", schemaToo},
		{"threshold: 2\n", "threshold: -1\n", schemaToo},
		{"threshold: 2\n", "threshold: 9\n", schemaToo},
		{"threshold: 2\n", "threshold: \"2\"\n", schemaToo},
		{"threshold: 2\n", "threshold: 6\n", loadingAlone},
		{"threshold: 2\n", "threshold: null\n", schemaToo},
		{"trustedRoot: root.json", `trustedRoot: ""`, schemaToo},
		{"trustedRoot: root.json", "trustedRoot: other.json", loadingAlone},
		{"maxLifetime: 90d", `maxLifetime: ""`, schemaToo},
		{"maxLifetime: 90d", "maxLifetime: 0d", loadingAlone},
		{"maxLifetime: 90d", "maxLifetime: -90d", schemaToo},
		{"maxLifetime: 90d", "maxLifetime: 1.5h", schemaToo},
		{"maxLifetime: 90d", "maxLifetime: 90", schemaToo},
		{`kinds: ["*"]`, "kinds: []", schemaToo},
		{`kinds: ["*"]`, `kinds: ["Policy*"]`, schemaToo},
		{`kinds: ["*"]`, "kinds: [ConfigMap]", loadingAlone},
		{`kinds: ["*"]`, `kinds: "*"`, schemaToo},
		{"allowUnbounded: true", `allowUnbounded: "true"`, schemaToo},

		{authority, "  - nam: merge\n", schemaToo},
		{authority, "  - name: \"\"\n", schemaToo},
		{authority, "  - name: \"merge \"\n", schemaToo},
		{authority, "  - name: people\n", loadingAlone},
		{authority, "  - name: merge\n    key: x\n", schemaToo},
		{authority, "  - name: merge\n    keyFile: ci.pub\n", schemaToo},
		{authority, "  - name: merge\n    certificateAuthority: x\n", schemaToo},
		{authority, "  - name: merge\n    certificateAuthorityFile: ca.pem\n", schemaToo},
		{authority, "  - name: merge\n    insecureWithoutLog: true\n", schemaToo},
		{authority, "  - name: merge\n    subjectRegexp: https://github.com/acme/.*\n", schemaToo},
		{authority, "  - name: merge\n    limits: {}\n", schemaToo},
		{authority, "  - name: merge\n    limits: {namespace: [a]}\n", schemaToo},
		{"issuer: https://token.actions", "issuer: http://token.actions", schemaToo},
		{"issuer: https://token.actions", "issuer: ftp://token.actions", schemaToo},
		{"issuer: https://token.actions", "issuer: HTTPS://token.actions", schemaToo},
		{"issuer: https://token.actions", "issuer: https://me@token.actions", schemaToo},
		{"    issuer: https://accounts.example\n", "", schemaToo},
		{"subject: https://github.com/acme/exceptions/.github/workflows/merge.yaml@refs/heads/main", "subject: acme", schemaToo},
		{"subject: https://github.com/acme/exceptions/.github/workflows/merge.yaml@refs/heads/main", "subject: https://github.com/acme/*", schemaToo},
		{"subject: https://github.com/acme/exceptions/.github/workflows/merge.yaml@refs/heads/main", `subject: ""`, schemaToo},
		{"subject: https://github.com/acme/exceptions/.github/workflows/merge.yaml@refs/heads/main", `subject: "https://github.com/acme/ a"`, schemaToo},
		{"subjectRegexp: .*@acme.example", "subjectRegexp: .*", loadingAlone},
		{"subjectRegexp: .*@acme.example", `subjectRegexp: ".*@acme.example "`, schemaToo},
		{"claims: {buildTrigger: push,", "claims: {trigger: push,", schemaToo},
		{"claims: {buildTrigger: push,", `claims: {buildTrigger: "",`, schemaToo},
		{"claims: {buildTrigger: push,", "claims: {buildTrigger: 1,", schemaToo},
		{"claims: {buildTrigger: push,", "claims: {buildTrigger: [],", schemaToo},
		{"claims: {buildTrigger: push,", "claims: {buildTrigger: [push, 1],", schemaToo},
		{"claims: {buildTrigger: push,", "claims: {buildTrigger: [push, push],", schemaToo},
		{"claims: {buildTrigger: push,", `claims: {buildTrigger: [push, ""],`, schemaToo},
		{"claims: {buildTrigger: push,", "claims: {buildTrigger: {a: b},", schemaToo},
		{`claims: {buildTrigger: push, sourceRepositoryIdentifier: "123456789"}`, "claims: {}", schemaToo},
		{"keyFile: ci.pub", "key: acme", schemaToo},
		{"keyFile: ci.pub", "keyFile: ci.pub\n    subject: anna@acme.example", schemaToo},

		{"kinds: [PolicyException.kyverno.io]", "kinds: []", schemaToo},
		{"kinds: [PolicyException.kyverno.io]", "kinds: [policyexception.kyverno.io]", schemaToo},
		{"namespaces: [exceptions, team-*]", "namespaces: []", schemaToo},
		{"namespaces: [exceptions, team-*]", "namespaces: [Team]", schemaToo},
		{"namespaces: [exceptions, team-*]", "namespaces: exceptions", schemaToo},
		{"exemptedNamespaces: [payments]", "exemptedNamespaces: []", schemaToo},
		{"exemptedNamespaces: [payments]", `exemptedNamespaces: ["pay[ab]"]`, schemaToo},
		{"policies: [require-*, shop/probes]", "policies: []", schemaToo},
		{"policies: [require-*, shop/probes]", "policies: [a/b/c]", schemaToo},
		{"policies: [require-*, shop/probes]", `policies: [""]`, schemaToo},
		{"renewals: {max: 2,", "renewals: {max: 0,", schemaToo},
		{"renewals: {max: 2,", "renewals: {max: 999,", schemaToo},
		{"renewals: {max: 2,", "renewals: {most: 2,", schemaToo},
		{allRenewals, "{}", schemaToo},
		{allRenewals, "{requireNewApprover: false}", loadingAlone},
		{allRenewals, "{forbid: true}", schemaToo},
		{allRenewals, "null", schemaToo},
		{"require: [ticket, owner]", "require: [color]", schemaToo},
		{"require: [ticket, owner]", "require: []", schemaToo},
		{"exemptedNamespaces: [shop-*]", "exemptedNamespaces: [Shop]", schemaToo},
		{"authorities: [people]", "authorities: []", schemaToo},
		{"authorities: [people]", "authorities: [zoe]", loadingAlone},
		{"maxLifetime: 2h", `maxLifetime: ""`, schemaToo},
		{"maxLifetime: 2h", "maxLifetime: 0h", loadingAlone},
		{"requireApprovals: 3", "requireApprovals: 0", schemaToo},
		{"requireApprovals: 3", "requireApprovals: 101", schemaToo},

		{"  - name: platform\n", "  - name: \"\"\n", schemaToo},
		{"  - name: platform\n", "  - nam: platform\n", schemaToo},
		{"  - name: platform\n", "  - name: security\n", loadingAlone},
		{"  - name: platform\n    threshold: 1\n", "  - name: platform\n", schemaToo},
		{"  - name: platform\n    threshold: 1\n", "  - name: platform\n    threshold: 0\n", schemaToo},
		{"  - name: platform\n    threshold: 1\n", "  - name: platform\n    threshold: 3\n", loadingAlone},
		{"authorities: [merge, people]", "authorities: []", schemaToo},
		{"authorities: [merge, people]", "authorities: [merge, merge]", schemaToo},
		{"authorities: [merge, people]", "authorities: [merge, zoe]", loadingAlone},
		{"authorities: [merge, people]", "authorities: [merge, anna@acme.example]", loadingAlone},
		{"    authorities: [merge, people]\n", "", schemaToo},

		{"policies: [require-run-as-nonroot], max: 7d", "max: 7d", schemaToo},
		{"policies: [require-run-as-nonroot], max: 7d", "policies: [], max: 7d", schemaToo},
		{"policies: [require-run-as-nonroot], max: 7d", "policies: [require-run-as-nonroot]", schemaToo},
		{"policies: [require-run-as-nonroot], max: 7d", `policies: [require-run-as-nonroot], max: ""`, schemaToo},
		{"policies: [require-run-as-nonroot], max: 7d", "policies: [require-run-as-nonroot], maxLifetime: 7d", schemaToo},
		{"policies: [require-run-as-nonroot], max: 7d", "severities: [high], max: 7d", schemaToo},

		{"messageDigest: sha256:0a", "messageDigest: 0a", schemaToo},
		{"messageDigest: sha256:0a", "messageDigest: sha512:0a", schemaToo},
		{"messageDigest: sha256:0a", "messageDigest: sha256:0", schemaToo},
		{"certificate: sha256:0A", "certificate: 0A", schemaToo},
		{"because: it was too wide", `because: ""`, schemaToo},
		{"because: it was too wide", "authority: ci", schemaToo},
		{"because: it was too wide", "reason: it was too wide", schemaToo},
		{`{authority: ci, signedBefore: "2026-01-01T00:00:00Z"}`, "{authority: ci}", schemaToo},
		{`{authority: ci, signedBefore: "2026-01-01T00:00:00Z"}`, `{signedBefore: "2026-01-01T00:00:00Z"}`, schemaToo},
		{`{authority: ci, signedBefore: "2026-01-01T00:00:00Z"}`, `{authority: ci, signedBefore: "2026-01-01"}`, schemaToo},
		{`{authority: ci, signedBefore: "2026-01-01T00:00:00Z"}`, `{authority: ci, signedBefore: "2026-13-01T00:00:00Z"}`, loadingAlone},
		{`{authority: ci, signedBefore: "2026-01-01T00:00:00Z"}`, `{authority: zoe, signedBefore: "2026-01-01T00:00:00Z"}`, loadingAlone},
		{`{authority: ci, signedBefore: "2026-01-01T00:00:00Z"}`, "{because: of this}", schemaToo},
		{"{app.kubernetes.io/managed-by: Helm}", "{}", schemaToo},
		{"{app.kubernetes.io/managed-by: Helm}", `{app.kubernetes.io/managed-by: ""}`, schemaToo},
		{"{app.kubernetes.io/managed-by: Helm}", "{app.kubernetes.io/managed-by: [Helm]}", schemaToo},
		{"{app.kubernetes.io/managed-by: Helm}", `{app.kubernetes.io/managed-by: "*"}`, schemaToo},
		{"{app.kubernetes.io/managed-by: Helm}", "{cleanup.kyverno.io/ttl: 1h}", loadingAlone},
		{"{meta.helm.sh/release-name: exceptions}", "{meta.helm.sh/*: exceptions}", loadingAlone},
		{"{meta.helm.sh/release-name: exceptions}", "{meta.helm.sh/release-name: true}", schemaToo},
		{"  annotations: {meta", "  annotation: {meta", schemaToo},

		{"revoked:\n", "revoked: []\nrevoket:\n", schemaToo},
	} {
		expect.Contains(t, everything, tc.old)
		text := strings.Replace(everything, tc.old, tc.with, 1)
		_, doc, err := load(text, dir)
		expect.That(t, err != nil, "%q instead of %q is accepted", tc.with, tc.old)
		if doc == nil {
			t.Errorf("%q instead of %q is no document: %v", tc.with, tc.old, err)
			continue
		}
		if err := validate(t, s, doc); (err != nil) != tc.schema {
			t.Errorf("%q instead of %q, by the schema: %v", tc.with, tc.old, err)
		}
	}
	for _, text := range []string{strings.SplitAfter(least, "TrustPolicy\n")[0], strings.Split(least, "\n  -")[0] + " []\n", "a: b\n"} {
		_, doc, err := load(text, dir)
		expect.That(t, err != nil && validate(t, s, doc) != nil, "%s is accepted: %v", text, err)
	}
}

// TestDocs loads each example of docs/reference/trust.md, checks it with the schema, and searches
// the page for every field.
func TestDocs(t *testing.T) {
	raw := must.Get(os.ReadFile("../../docs/reference/trust.md"))(t)
	page := string(raw)
	s, dir := schema(t), beside(t)
	key := must.Get(os.ReadFile(filepath.Join(dir, "ci.pub")))(t)
	must.Do(t, os.Mkdir(filepath.Join(dir, "keys"), 0o700))
	must.Do(t, os.WriteFile(filepath.Join(dir, "keys", "release.pub"), key, 0o600))
	examples := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(page, -1)
	for i, example := range examples {
		t.Run(fmt.Sprint("example ", i+1), func(t *testing.T) {
			_, doc, err := load(example[1], dir)
			must.Do(t, err)
			must.Do(t, validate(t, s, doc))
		})
	}
	expect.AtLeast(t, "examples", 9, len(examples))
	all := fields(t)
	for _, field := range all {
		expect.Contains(t, page, "`"+field)
		if slices.Contains(all, field+"File") {
			continue // its file is documented
		}
		expect.That(t, strings.Contains(page, field+": ") || strings.Contains(page, field+":\n"),
			"%q is not shown", field)
	}
}

// fields returns the keys in the schema, except claims.
func fields(t *testing.T) []string {
	t.Helper()
	raw := must.Get(os.ReadFile(schemaFile))(t)
	type object struct{ Properties map[string]any }
	var tree struct {
		object
		Defs map[string]object `json:"$defs"`
	}
	must.Do(t, json.Unmarshal(raw, &tree))
	found := map[string]bool{}
	for _, o := range append(slices.Collect(maps.Values(tree.Defs)), tree.object) {
		for key := range o.Properties {
			found[key] = true
		}
	}
	delete(found, "apiVersion")
	return slices.Sorted(maps.Keys(found))
}

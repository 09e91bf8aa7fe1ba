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
	"github.com/polex-dev/polex/test/schema"
)

const schemaFile = "../../docs/trustpolicy.schema.json"

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
	return s.Validate(schema.Value(t, string(must.Get(json.Marshal(doc.Object()))(t))))
}

// edit is one change in a policy.
type edit struct {
	old, with string
	schema    bool   // the schema rejects it too
	at, want  string // the place and a part of the error, or nothing
}

// load loads the changed policy, and checks it with the schema.
func (e edit) load(t *testing.T, s *jsonschema.Schema, dir, text string) {
	t.Helper()
	t.Run(fmt.Sprintf("%q instead of %q", e.with, e.old), func(t *testing.T) {
		expect.Contains(t, text, e.old)
		_, doc, err := load(strings.Replace(text, e.old, e.with, 1), dir)
		expect.Outcome(t, err, e.want)
		expect.That(t, err == nil || strings.Contains(err.Error(), e.at), "%v, want it at %s", err, e.at)
		must.That(t, doc != nil, "it is no document: %v", err)
		expect.Is(t, "refused by the schema", e.schema, validate(t, s, doc) != nil)
	})
}

// TestSchemaExamples: a policy that the schema rejects does not load, and one that loads passes the schema. The error has
// the place of the fault.
func TestSchemaExamples(t *testing.T) {
	s, dir := schema.Compile(t, schemaFile), beside(t)
	inline := "|\n      " + strings.ReplaceAll(strings.TrimSpace(keyPEM(t, elliptic.P256())), "\n", "\n      ") + "\n"
	const least = "apiVersion: polex.dev/v1alpha1\nkind: TrustPolicy\nauthorities:\n  - {issuer: https://accounts.example, subject: anna@acme.example}\n"
	for _, text := range []string{least, "apiVersion: polex.dev/v1alpha1\nkind: TrustPolicy\nauthorities:\n  - key: " + inline} {
		edit{}.load(t, s, dir, text)
	}
	const authority, schemaToo, loadingAlone = "  - name: merge\n", true, false
	for _, tc := range []edit{
		{},
		{old: allRenewals, with: "{requireNewApprover: true}"},
		{old: "claims: {buildTrigger: push,", with: "claims: {buildTrigger: [push, workflow_dispatch],"},
		{"polex.dev/v1alpha1", "polex.dev/v1", schemaToo, "1:1", "not a trust policy"},
		{"kind: TrustPolicy", "kind: Config", schemaToo, "", "names no authority"},
		{"kind: TrustPolicy\n", "", schemaToo, "1:1", "not a trust policy"},
		{"threshold: 2\n", "treshold: 2\n", schemaToo, "4:1", "unknown field"},
		{"threshold: 2\n", "threshold: 0\n", schemaToo, "4:1", "is empty"},
		{"threshold: 2\n", "threshold: -1\n", schemaToo, "4:1", "cannot be reached"},
		{"threshold: 2\n", "threshold: 9\n", schemaToo, "4:1", "cannot be reached"},
		{"threshold: 2\n", "threshold: \"2\"\n", schemaToo, "4:1", "expected a whole number"},
		{"threshold: 2\n", "threshold: 6\n", loadingAlone, "4:1", "cannot be reached"},
		{"threshold: 2\n", "threshold: null\n", schemaToo, "4:1", "is empty"},
		{"trustedRoot: root.json", `trustedRoot: ""`, schemaToo, "3:1", "is empty"},
		{"trustedRoot: root.json", "trustedRoot: other.json", loadingAlone, "", "no such file"},
		{"maxLifetime: 90d", `maxLifetime: ""`, schemaToo, "32:1", "is empty"},
		{"maxLifetime: 90d", "maxLifetime:", schemaToo, "32:1", "is empty"},
		{"maxLifetime: 90d", "maxLifetime: 0d", loadingAlone, "32:1", "is zero or negative"},
		{"maxLifetime: 90d", "maxLifetime: -90d", schemaToo, "32:1", "is not a duration"},
		{"maxLifetime: 90d", "maxLifetime: 1.5h", schemaToo, "32:1", "is not a duration"},
		{"maxLifetime: 90d", "maxLifetime: 90", schemaToo, "32:1", "expected text"},
		{`kinds: ["*"]`, "kinds: []", schemaToo, "31:1", "is empty"},
		{`kinds: ["*"]`, `kinds: ["Policy*"]`, schemaToo, "31:1", "Kind.group"},
		{`kinds: ["*"]`, "kinds: [ConfigMap]", loadingAlone, "17:5", "are not in the trust policy"},
		{`kinds: ["*"]`, `kinds: "*"`, schemaToo, "31:1", "expected a list"},
		{"allowUnbounded: true", `allowUnbounded: "true"`, schemaToo, "38:1", "expected true or false"},

		{authority, "  - nam: merge\n", schemaToo, "13:5", "unknown field"},
		{authority, "  - name: \"\"\n", schemaToo, "13:5", "is empty"},
		{authority, "  - name: \"merge \"\n", schemaToo, "13:5", "white space"},
		{authority, "  - name: people\n", loadingAlone, "17:5", "are called"},
		{authority, "  - name: merge\n    key: x\n", schemaToo, "13:5", "not both"},
		{authority, "  - name: merge\n    keyFile: ci.pub\n", schemaToo, "13:5", "not both"},
		{authority, "  - name: merge\n    certificateAuthority: x\n", schemaToo, "14:5", "unknown field"},
		{authority, "  - name: merge\n    certificateAuthorityFile: ca.pem\n", schemaToo, "14:5", "unknown field"},
		{authority, "  - name: merge\n    insecureWithoutLog: true\n", schemaToo, "13:5", "is for keys"},
		{authority, "  - name: merge\n    subjectRegexp: https://github.com/acme/.*\n", schemaToo, "13:5", "both set"},
		{authority, "  - name: merge\n    limits: {}\n", schemaToo, "14:5", "is empty"},
		{authority, "  - name: merge\n    limits: {namespace: [a]}\n", schemaToo, "14:14", "unknown field"},
		{"issuer: https://token.actions", "issuer: http://token.actions", schemaToo, "13:5", "does not use https"},
		{"issuer: https://token.actions", "issuer: ftp://token.actions", schemaToo, "13:5", "not the address"},
		{"issuer: https://token.actions", "issuer: HTTPS://token.actions", schemaToo, "13:5", "not the address"},
		{"issuer: https://token.actions", "issuer: https://me@token.actions", schemaToo, "13:5", "not the address"},
		{"    issuer: https://accounts.example\n", "", schemaToo, "17:5", "has no issuer"},
		{"subject: " + subject, "subject: acme", schemaToo, "13:5", "neither an address"},
		{"subject: " + subject, "subject: https://github.com/acme/*", schemaToo, "13:5", "a wildcard"},
		{"subject: " + subject, `subject: ""`, schemaToo, "15:5", "is empty"},
		{"subject: " + subject, `subject: "https://github.com/acme/ a"`, schemaToo, "13:5", "white space"},
		{"subjectRegexp: .*@acme.example", "subjectRegexp: .*", loadingAlone, "17:5", "any host"},
		{"subjectRegexp: .*@acme.example", `subjectRegexp: ".*@acme.example "`, schemaToo, "17:5", "white space"},
		{"claims: {buildTrigger: push,", "claims: {trigger: push,", schemaToo, "13:5", "is not one of"},
		{"claims: {buildTrigger: push,", `claims: {buildTrigger: "",`, schemaToo, "16:14", "is empty"},
		{"claims: {buildTrigger: push,", "claims: {buildTrigger: 1,", schemaToo, "1:1", "is not text"},
		{"claims: {buildTrigger: push,", "claims: {buildTrigger: [],", schemaToo, "16:14", "is empty"},
		{"claims: {buildTrigger: push,", "claims: {buildTrigger: [push, 1],", schemaToo, "1:1", "is not text"},
		{"claims: {buildTrigger: push,", "claims: {buildTrigger: [push, push],", schemaToo, "13:5", "twice"},
		{"claims: {buildTrigger: push,", `claims: {buildTrigger: [push, ""],`, schemaToo, "16:35", "is empty"},
		{"claims: {buildTrigger: push,", "claims: {buildTrigger: {a: b},", schemaToo, "1:1", "is not text"},
		{`claims: {buildTrigger: push, sourceRepositoryIdentifier: "123456789"}`, "claims: {}", schemaToo, "16:5", "is empty"},
		{"keyFile: ci.pub", "key: acme", schemaToo, "28:5", "not a complete PEM"},
		{"keyFile: ci.pub", "keyFile: ci.pub\n    subject: anna@acme.example", schemaToo, "28:5", "not both"},

		{"kinds: [PolicyException.kyverno.io]", "kinds: []", schemaToo, "21:7", "is empty"},
		{"kinds: [PolicyException.kyverno.io]", "kinds: [policyexception.kyverno.io]", schemaToo, "17:5", "neither a name"},
		{"namespaces: [exceptions, team-*]", "namespaces: []", schemaToo, "22:7", "is empty"},
		{"namespaces: [exceptions, team-*]", "namespaces: [Team]", schemaToo, "17:5", "neither a name"},
		{"namespaces: [exceptions, team-*]", "namespaces: exceptions", schemaToo, "12:1", "expected a list"},
		{"exemptedNamespaces: [payments]", "exemptedNamespaces: []", schemaToo, "23:7", "is empty"},
		{"exemptedNamespaces: [payments]", `exemptedNamespaces: ["pay[ab]"]`, schemaToo, "17:5", "neither a name"},
		{"policies: [require-*, shop/probes]", "policies: []", schemaToo, "24:7", "is empty"},
		{"policies: [require-*, shop/probes]", "policies: [a/b/c]", schemaToo, "17:5", "neither a name"},
		{"policies: [require-*, shop/probes]", `policies: [""]`, schemaToo, "24:18", "is empty"},
		{"renewals: {max: 2,", "renewals: {max: 0,", schemaToo, "37:12", "is empty"},
		{"renewals: {max: 2,", "renewals: {max: 999,", schemaToo, "37:1", "is invalid, expected"},
		{"renewals: {max: 2,", "renewals: {most: 2,", schemaToo, "37:12", "unknown field"},
		{allRenewals, "{}", schemaToo, "37:1", "is empty"},
		{allRenewals, "{requireNewApprover: false}", loadingAlone, "37:1", "they limit nothing"},
		{allRenewals, "{forbid: true}", schemaToo, "37:12", "unknown field"},
		{allRenewals, "null", schemaToo, "37:1", "is empty"},
		{"require: [ticket, owner]", "require: [color]", schemaToo, "37:1", "is not one of"},
		{"require: [ticket, owner]", "require: []", schemaToo, "37:37", "is empty"},
		{"exemptedNamespaces: [shop-*]", "exemptedNamespaces: [Shop]", schemaToo, "36:5", "neither a name"},
		{"authorities: [people]", "authorities: []", schemaToo, "35:6", "is empty"},
		{"authorities: [people]", "authorities: [zoe]", loadingAlone, "35:5", "no authority called"},
		{"maxLifetime: 2h", `maxLifetime: ""`, schemaToo, "37:20", "is empty"},
		{"maxLifetime: 2h", "maxLifetime: 0h", loadingAlone, "37:1", "is zero or negative"},
		{"requireApprovals: 3", "requireApprovals: 0", schemaToo, "37:63", "is empty"},
		{"requireApprovals: 3", "requireApprovals: 101", schemaToo, "37:1", "is invalid, expected"},

		{"  - name: platform\n", "  - name: \"\"\n", schemaToo, "6:5", "is empty"},
		{"  - name: platform\n", "  - nam: platform\n", schemaToo, "6:5", "unknown field"},
		{"  - name: platform\n", "  - name: security\n", loadingAlone, "9:5", "are called"},
		{"  - name: platform\n    threshold: 1\n", "  - name: platform\n", schemaToo, "6:5", "not between 1"},
		{"  - name: platform\n    threshold: 1\n", "  - name: platform\n    threshold: 0\n", schemaToo, "7:5", "is empty"},
		{"  - name: platform\n    threshold: 1\n", "  - name: platform\n    threshold: 3\n", loadingAlone, "6:5", "not between 1"},
		{"authorities: [merge, people]", "authorities: []", schemaToo, "8:5", "is empty"},
		{"authorities: [merge, people]", "authorities: [merge, merge]", schemaToo, "6:5", "twice"},
		{"authorities: [merge, people]", "authorities: [merge, zoe]", loadingAlone, "6:5", "no authority called"},
		{"authorities: [merge, people]", "authorities: [merge, anna@acme.example]", loadingAlone, "6:5", "no authority called"},
		{"    authorities: [merge, people]\n", "", schemaToo, "6:5", "has no authorities"},

		{"policies: [require-run-as-nonroot], max: 7d", "max: 7d", schemaToo, "34:5", "applies to every document"},
		{"policies: [require-run-as-nonroot], max: 7d", "policies: [], max: 7d", schemaToo, "34:6", "is empty"},
		{"policies: [require-run-as-nonroot], max: 7d", "policies: [require-run-as-nonroot]", schemaToo, "34:5", "is not a duration"},
		{"policies: [require-run-as-nonroot], max: 7d", `policies: [require-run-as-nonroot], max: ""`, schemaToo, "34:42", "is empty"},
		{"policies: [require-run-as-nonroot], max: 7d", "policies: [require-run-as-nonroot], maxLifetime: 7d", schemaToo, "34:42", "unknown field"},
		{"policies: [require-run-as-nonroot], max: 7d", "severities: [high], max: 7d", schemaToo, "34:6", "unknown field"},

		{"messageDigest: sha256:0a", "messageDigest: 0a", schemaToo, "40:5", "hexadecimal"},
		{"messageDigest: sha256:0a", "messageDigest: sha512:0a", schemaToo, "40:5", "hexadecimal"},
		{"messageDigest: sha256:0a", "messageDigest: sha256:0", schemaToo, "40:5", "hexadecimal"},
		{"certificate: sha256:0A", "certificate: 0A", schemaToo, "42:5", "hexadecimal"},
		{"because: it was too wide", `because: ""`, schemaToo, "41:5", "is empty"},
		{"because: it was too wide", "authority: ci", schemaToo, "40:5", "set either"},
		{"because: it was too wide", "reason: it was too wide", schemaToo, "41:5", "unknown field"},
		{`{authority: ci, signedBefore: "2026-01-01T00:00:00Z"}`, "{authority: ci}", schemaToo, "43:5", "RFC 3339"},
		{`{authority: ci, signedBefore: "2026-01-01T00:00:00Z"}`, `{signedBefore: "2026-01-01T00:00:00Z"}`, schemaToo, "43:5", "no authority called"},
		{`{authority: ci, signedBefore: "2026-01-01T00:00:00Z"}`, `{authority: ci, signedBefore: "2026-01-01"}`, schemaToo, "43:5", "RFC 3339"},
		{`{authority: ci, signedBefore: "2026-01-01T00:00:00Z"}`, `{authority: ci, signedBefore: "2026-13-01T00:00:00Z"}`, loadingAlone, "43:5", "RFC 3339"},
		{`{authority: ci, signedBefore: "2026-01-01T00:00:00Z"}`, `{authority: zoe, signedBefore: "2026-01-01T00:00:00Z"}`, loadingAlone, "43:5", "no authority called"},
		{`{authority: ci, signedBefore: "2026-01-01T00:00:00Z"}`, "{because: of this}", schemaToo, "43:5", "set either"},
		{"{app.kubernetes.io/managed-by: Helm}", "{}", schemaToo, "45:3", "is empty"},
		{"{app.kubernetes.io/managed-by: Helm}", `{app.kubernetes.io/managed-by: ""}`, schemaToo, "45:12", "is empty"},
		{"{app.kubernetes.io/managed-by: Helm}", "{app.kubernetes.io/managed-by: [Helm]}", schemaToo, "45:3", "expected text"},
		{"{app.kubernetes.io/managed-by: Helm}", `{app.kubernetes.io/managed-by: "*"}`, schemaToo, "44:1", "not the value of a label"},
		{"{app.kubernetes.io/managed-by: Helm}", "{cleanup.kyverno.io/ttl: 1h}", loadingAlone, "44:1", "cannot be allowed"},
		{"{meta.helm.sh/release-name: exceptions}", "{meta.helm.sh/*: exceptions}", loadingAlone, "44:1", "the key is not a name"},
		{"{meta.helm.sh/release-name: exceptions}", "{meta.helm.sh/release-name: true}", schemaToo, "46:3", "expected text"},
		{"  annotations: {meta", "  annotation: {meta", schemaToo, "46:3", "unknown field"},

		{"revoked:\n", "revoked: []\nrevoket:\n", schemaToo, "40:1", "unknown field"},
	} {
		tc.load(t, s, dir, everything)
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
	s, dir := schema.Compile(t, schemaFile), beside(t)
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

package config

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
	schematest "github.com/polex-dev/polex/test/schema"
)

// everything is a configuration with every key.
const everything = `
apiVersion: polex.dev/v1alpha1
kind: Config
directories: {unsigned: requests, signed: live, policies: policies}
lifetime: {ttlLabel: true}
statements: {reason: [acme.example/why], ticket: [jira], owner: [acme.example/team, team]}
promote:
  updates: replace
  record: api
  requireApprovals: 1
  allowStaleApprovals: true
  approvalsFrom: api
sigstore:
  fulcioURL: https://fulcio.example.com
  rekorURL: https://rekor.example.com/
  rekorVersion: 2
  timestampURL: http://127.0.0.1:3000/api/v1/timestamp
  bundleFormat: sigstore
guard:
  namespaces: [team-*]
  requireCluster: true
  maxPerNamespace: 50
  guardPolicies: [protect-exceptions]
  guardNamespaces: [platform-security]
  allowInKyverno: [require-requests Pod/kyverno-*]
  policies: [policies.yaml]
shape:
  preset: strict
  require: [reason, owner]
  requireInMatch: [names]
  clusterScoped: [ClusterIssuer.cert-manager.io]
  maxPolicies: 1
  namespaces: [platform]
  checks: {wildcard-rule: "off"}
  kyvernoVersion: "1.19"
trust:
  trustedRoot: root.json
  expiryKeys: [acme.example/until]
  grandfathered:
    - {digest: "sha256:0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a", until: "2027-03-31", because: older}
  threshold: 1
  groups: [{name: platform, threshold: 1, authorities: [merge]}]
  kinds: ["*"]
  maxLifetime: 90d
  allowUnbounded: true
  lifetimes: [{authorities: [merge], policies: [a], namespaces: [b], exemptedNamespaces: [c], kinds: ["*"], max: 7d}]
  renewals: {max: 3, maxLifetime: 30d, require: [ticket], requireApprovals: 2, requireNewApprover: true}
  revoked:
    - {messageDigest: "sha256:0000000000000000000000000000000000000000000000000000000000000000", because: it leaked}
    - {certificate: "sha256:0000000000000000000000000000000000000000000000000000000000000000"}
    - {authority: merge, signedBefore: "2026-01-01T00:00:00Z"}
  allowedMetadata:
    labels: {app.kubernetes.io/managed-by: Helm}
    annotations: {meta.helm.sh/release-name: exceptions}
  authorities:
    - name: merge
      issuer: https://token.actions.githubusercontent.com
      subject: https://github.com/acme/exceptions/.github/workflows/merge.yaml@refs/heads/main
      claims: {buildTrigger: push}
      limits:
        kinds: [PolicyException.kyverno.io]
        namespaces: [a]
        exemptedNamespaces: [b]
        policies: [c]
    - name: shared
      issuer: https://github.acme.example/_services/token
      github:
        repository: acme/exceptions
        repositoryID: 1001
        workflow: acme/workflows/.github/workflows/sign.yaml@refs/tags/v2
        ref: refs/heads/main
        environment: exceptions
        calledBy: .github/workflows/merge.yaml
        server: https://github.acme.example
      requireCommit: true
    - {issuer: https://accounts.example.com, subjectRegexp: .*@acme.example}
    - {keyFile: key.pub, insecureWithoutLog: true}
    - {key: "-----BEGIN PUBLIC KEY-----", limits: {kinds: ["*"]}}
`

// read reads all sections of a configuration.
func read(t *testing.T, text []byte) error {
	t.Helper()
	path := filepath.Join(t.TempDir(), Name)
	must.Do(t, os.WriteFile(path, text, 0o600))
	c, err := Load(path)
	if err != nil {
		return err
	}
	section := shape.Config{Policies: shape.ReadPolicies(nil)}
	if err := c.Section("shape", &section); err != nil {
		return err
	}
	if _, err := shape.New(section); err != nil {
		return err
	}
	_, err = trust.Read(c.Document(), c.Dir)
	return err
}

// bothSay checks a configuration with the schema and with polex.
func bothSay(t *testing.T, s *jsonschema.Schema, text []byte) (bySchema, byPolex error) {
	t.Helper()
	return s.Validate(schematest.Value(t, string(must.Get(yaml.YAMLToJSON(text))(t)))), read(t, text)
}

// TestEveryKeyIsRead: the configuration above has every key of the schema, and both accept it. If a
// key has another name, no value or the wrong type, both reject it, and polex gives the position.
func TestEveryKeyIsRead(t *testing.T) {
	s := schematest.Compile(t, "../../docs/polex.schema.json")
	bySchema, byPolex := bothSay(t, s, []byte(everything))
	must.That(t, bySchema == nil && byPolex == nil, "the schema says %v, polex %v", bySchema, byPolex)
	var whole object
	must.Do(t, yaml.Unmarshal([]byte(everything), &whole))
	met := map[string]bool{}
	mutations := 0
	var each func(above string, value any)
	each = func(above string, value any) {
		switch v := value.(type) {
		case []any:
			for _, item := range v {
				each(above+"[]", item)
			}
		case object:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				met[above+"."+key] = true
				each(above+"."+key, v[key])
				was := v[key]
				for what, mutate := range map[string]func(){
					"another name": func() { delete(v, key); v[key+"X"] = was },
					"no value":     func() { v[key] = nil },
					"another type": func() { v[key] = []any{object{"x": 1}} },
				} {
					mutate()
					text := must.Get(json.Marshal(whole))(t)
					bySchema, byPolex := bothSay(t, s, text)
					var syntax *exception.SyntaxError
					if what == "another name" && strings.HasSuffix(above, ".claims") {
						byPolex = bySchema // trust.Load knows the names
					}
					if what == "another name" && strings.HasPrefix(above, ".trust.allowedMetadata.") { // a label has any name
						expect.That(t, bySchema == nil && byPolex == nil,
							"%s.%sX: the schema says %v, polex %v", above, key, bySchema, byPolex)
					} else if bySchema == nil || byPolex == nil || !errors.As(byPolex, &syntax) && !strings.HasPrefix(above, ".shape.checks") && !strings.HasSuffix(above, ".claims") {
						t.Errorf("%s.%s with %s: the schema says %v, polex %v", above, key, what, bySchema, byPolex)
					}
					mutations++
					delete(v, key+"X")
					v[key] = was
				}
			}
		}
	}
	each("", whole)
	for _, key := range schemaKeys("", schema(t), trustSchema(t)["$defs"].(object)) {
		expect.That(t, met[key] || strings.HasPrefix(key, ".shape.checks."), "the configuration above lacks %s", key)
	}
	expect.AtLeast(t, "mutations", 200, mutations)
}

// schemaKeys returns the keys of a schema.
func schemaKeys(above string, s, defs object) []string {
	s = resolved(s, defs)
	var all []string
	if items, ok := s["items"].(object); ok {
		return schemaKeys(above+"[]", items, defs)
	}
	properties, _ := s["properties"].(object)
	for key, value := range properties {
		all = append(append(all, above+"."+key), schemaKeys(above+"."+key, value.(object), defs)...)
	}
	return all
}

// TestValues: both reject the same values.
func TestValues(t *testing.T) {
	s := schematest.Compile(t, "../../docs/polex.schema.json")
	verdict := func(text string, ok bool) {
		t.Helper()
		bySchema, byPolex := bothSay(t, s, []byte("apiVersion: polex.dev/v1alpha1\nkind: Config\n"+text+"\n"))
		expect.That(t, (bySchema == nil) == ok && (byPolex == nil) == ok, "%s: the schema says %v, polex %v", text, bySchema, byPolex)
	}
	for _, text := range []string{
		"shape: {preset: baseline, maxPolicies: 0, require: [], namespaces: []}",
		"shape: {checks: {wildcard-rule: \"off\", no-expiry: warning, reaches-guard: error}}",
		"promote: {record: trailers, approvalsFrom: trailers, requireApprovals: 0}",
		"sigstore: {rekorURL: 'http://localhost:3000'}",
		"guard: {maxPerNamespace: 0}",
		"statements: {owner: [], ticket: [acme.example/Jira_1]}",
	} {
		verdict(text, true)
	}
	for section, values := range map[string][]string{
		"shape": {
			"{preset: lenient}", "{maxLifetime: 90d}", "{limits: [{maxLifetime: 1d}]}", "{renewals: {max: 1}}", "{allowUnbounded: true}",
			"{require: [colour]}", "{requireInMatch: [kinds]}", "{maxPolicies: -1}", "{maxPolicies: '1'}", "{MaxPolicies: 1}",
			"{checks: {reaches-guard: 'off'}}", "{checks: {wildcards: 'off'}}", "{checks: {wildcard-rule: info}}",
			"{rules: [{name: a}]}", "{defaultSeverity: high}",
		},
		"promote": {
			"{updates: overwrite}", "{updates: ''}", "{record: gitlab}", "{requireApprovals: -1}", "{requireApprovals: 101}",
			"{approvalsFrom: event}", "{renewals: {requireApprovals: 1}}",
		},
		"sigstore": {
			"{rekorVersion: 3}", "{rekorVersion: 0}", "{bundleFormat: dsse}", "{oidcIssuer: 'https://a.example'}", "{oidcClientID: polex}",
			"{rekorURL: 'http://rekor.example.com'}", "{rekorURL: rekor.example.com}", "{rekorURL: ''}",
			"{fulcioURL: 'https://me@example.com'}", "{timestampURL: 'https://a.example/?x'}",
		},
		"guard":       {"{allowInKyverno: [{policy: a, kind: Pod, name: b}]}", "{maxPerNamespace: -1}"},
		"lifetime":    {"{ttlLabel: 'yes'}"},
		"statements":  {"{owner: team}", "{category: [a]}", "{owner: [1]}", "{owner: null}", "[]"},
		"directories": {"{unsigned: 1}", ""},
		"trust":       {"{threshold: 0}", "{kinds: []}"},
		"guards":      {"{}"},
	} {
		for _, value := range values {
			verdict(section+": "+value, false)
		}
	}
}

// TestHints: the error for a key that is not there has its position, and the nearest key or what replaces it.
func TestHints(t *testing.T) {
	for text, want := range map[string]string{
		"shape:\n  kyvernVersion: 90d":                                    `did you mean "kyvernoVersion"?`,
		"statements:\n  ownr: [team]":                                     `did you mean "owner"?`,
		"statements:\n  category: [kind]":                                 "the keys are reason, ticket, owner",
		"sigstore:\n  oidcIssuer: https://a.example":                      "use the flag --oidc-issuer",
		"sigstore:\n  oidcClientID: a":                                    "use the flag --oidc-client-id",
		"trust: {authorities: [{key: a, limits: {\n  maxLifetime: 1d}}]}": "write max in a rule of trust.lifetimes, which can name the authority",
		"trust: {lifetimes: [{policies: [a],\n  maxLifetime: 1d}]}":       "write max in a rule of trust.lifetimes, which can name the authority",
		"trust: {lifetimes: [{max: 1d,\n  policy: [a]}]}":                 `did you mean "policies"?`,
	} {
		err := read(t, []byte("apiVersion: polex.dev/v1alpha1\nkind: Config\n"+text+"\n"))
		var syntax *exception.SyntaxError
		if !errors.As(err, &syntax) || syntax.Position.Line != 4 || syntax.Position.Column != 3 || syntax.Hint != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestStatementKeys: they must be a team's own keys, and not allowed in unsigned metadata.
func TestStatementKeys(t *testing.T) {
	text := `apiVersion: polex.dev/v1alpha1
kind: Config
statements:
  owner: [unit, KEY]
trust:
  authorities:
    - {issuer: https://accounts.example.com, subject: anna@acme.example}
  allowedMetadata:
    labels: {LABEL: a}
    annotations: {ANNOTATION: a}
`
	for replaced, line := range map[string]int{
		"KEY=team LABEL=team": 9, "KEY=team ANNOTATION=team": 10, "ANNOTATION=unit": 10, "KEY=team LABEL=other": 0, "KEY=acme.example/team": 0,
		"KEY=''": 4, "KEY=a_/b": 4, "KEY=Acme.example/team": 4, "KEY=polex.dev/team": 4, "KEY=a.kyverno.io/team": 4, "KEY=cosign.sigstore.dev/team": 4,
	} {
		text := text
		for _, one := range strings.Fields(replaced) {
			old, with, _ := strings.Cut(one, "=")
			text = strings.Replace(text, old, with, 1)
		}
		err := read(t, []byte(text))
		var syntax *exception.SyntaxError
		if (line == 0) != (err == nil) || err != nil && (!errors.As(err, &syntax) || syntax.Position.Line != line) {
			t.Errorf("%s: %v", replaced, err)
		}
	}
}

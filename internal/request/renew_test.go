package request_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/promotion/renewal"
	"github.com/polex-dev/polex/internal/request"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// sealed returns a document with signature annotations for its content. The signature is invalid,
// because these tests do not check the signer.
func sealed(t *testing.T, text string) (doc *exception.Document, digest string) {
	t.Helper()
	plain := parse(t, text)[0]
	message := must.Get(seal.Message(plain))(t)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write(message)
	_ = w.Close()
	object := plain.Object()
	annotations := object["metadata"].(map[string]any)["annotations"].(map[string]any)
	annotations["cosign.sigstore.dev/message"] = base64.StdEncoding.EncodeToString(packed.Bytes())
	annotations["cosign.sigstore.dev/signature"] = base64.StdEncoding.EncodeToString([]byte("by nobody"))
	doc = must.Get(exception.FromObject(object))(t)
	sum := sha256.Sum256(message)
	return doc, "sha256:" + hex.EncodeToString(sum[:])
}

const signedOld = `apiVersion: kyverno.io/v2
kind: PolicyException
metadata:
  name: web-probes-1a2b3c4d5e
  namespace: team-a
  labels: {team: a, cleanup.kyverno.io/ttl: 2026-06-01T120000Z}
  annotations:
    polex.dev/reason: the vendor has no probe
    polex.dev/ticket: SEC-12
    polex.dev/owner: team-a
    polex.dev/expires-in: 7d
    polex.dev/expires-at: "2026-06-01T12:00:00Z"
    polex.dev/starts-at: "2026-05-01T12:00:00Z"
    polex.dev/approved-by: jane
    polex.dev/pull-request: "#1"
    polex.dev/requested-by: jim
    polex.dev/merge-commit: abc
    polex.dev/recorded-from: api
spec:
  exceptions: [{policyName: probes, ruleNames: [check]}]
  match: {any: [{resources: {kinds: [v1/Pod], names: [web], namespaces: [team-a]}}]}
`

// renewed is a renewal without a problem.
func renewed(t *testing.T, old *exception.Document, statements request.Statements) *request.Draft {
	t.Helper()
	draft, problem := request.Renew(old, statements, &shape.Config{})
	must.That(t, problem == nil, "%v", problem)
	return draft
}

func TestRenew(t *testing.T) {
	old, digest := sealed(t, signedOld)
	draft := renewed(t, old, request.Statements{ExpiresIn: "3d", Ticket: "SEC-13"})
	want := `apiVersion: kyverno.io/v2
kind: PolicyException
metadata:
  name: web-probes-1a2b3c4d5e-r1
  namespace: team-a
  labels:
    team: a
  annotations:
    polex.dev/expires-in: "3d"
    polex.dev/owner: team-a
    polex.dev/reason: "the vendor has no probe"
    polex.dev/renewal: "1"
    polex.dev/renews: "web-probes-1a2b3c4d5e@` + digest + `"
    polex.dev/ticket: SEC-13
spec:
  exceptions:
  - policyName: probes
    ruleNames: [check]
  match:
    any:
    - resources:
        kinds: [v1/Pod]
        names: [web]
        namespaces: [team-a]
`
	expect.Equal(t, "result", want, string(draft.Source))
	strict(t, *draft, nil)

	// The next renewal has the next number.
	next, digest := sealed(t, string(draft.Source))
	again := renewed(t, next, request.Statements{ExpiresIn: "1d"})
	exc, _ := again.Document.Exception()
	if exc.Identity.Name != "web-probes-1a2b3c4d5e-r2" || exc.RenewalNumber.Text != "2" || exc.Renews.Text != "web-probes-1a2b3c4d5e-r1@"+digest {
		t.Errorf("%+v", exc)
	}
}

func TestRenewNew(t *testing.T) {
	old, digest := sealed(t, `apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata: {name: web, namespace: team-a, labels: {cleanup.kyverno.io/ttl: 2026-06-01T120000Z, app.kubernetes.io/instance: platform},
  annotations: {polex.dev/owner: team-a, argocd.argoproj.io/sync-options: Prune=false}}
spec:
  policyRefs: [{name: readiness, kind: ValidatingPolicy}]
  matchConditions: [{name: only, expression: "object.metadata.name == 'web'"}]
  expiresAt: "2026-06-01T12:00:00Z"
  properties: {reason: none, approved-by: jane}
`)
	draft := renewed(t, old, request.Statements{ExpiresIn: "3d", Reason: "still none"})
	want := `apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata:
  name: web-r1
  namespace: team-a
  annotations:
    polex.dev/expires-in: "3d"
    polex.dev/owner: team-a
    polex.dev/renewal: "1"
    polex.dev/renews: "web@` + digest + `"
spec:
  policyRefs:
  - kind: ValidatingPolicy
    name: readiness
  matchConditions:
  - name: only
    expression: "object.metadata.name == 'web'"
  properties:
    reason: "still none"
`
	expect.Equal(t, "result", want, string(draft.Source))
	expect.Contains(t, strings.Join(draft.Notes, "\n"), `argocd.argoproj.io/sync-options: "Prune=false" is removed`)
}

func TestNotRenewable(t *testing.T) {
	good, _ := sealed(t, signedOld)
	edited := func(change func(metadata, annotations map[string]any)) *exception.Document {
		object := good.Object()
		metadata := object["metadata"].(map[string]any)
		change(metadata, metadata["annotations"].(map[string]any))
		return must.Get(exception.FromObject(object))(t)
	}
	odd := func(renewal string) *exception.Document {
		doc, _ := sealed(t, strings.Replace(signedOld, "  annotations:\n", "  annotations:\n    polex.dev/renews: web@sha256:"+strings.Repeat("0", 64)+"\n    polex.dev/renewal: "+renewal+"\n", 1))
		return doc
	}
	other, _ := sealed(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: team-a, annotations: {a: b}}\n")
	for name, doc := range map[string]*exception.Document{
		"never signed":           parse(t, signedOld)[0],
		"changed since":          edited(func(metadata, _ map[string]any) { metadata["name"] = "api" }),
		"a longer life":          edited(func(_, a map[string]any) { a["polex.dev/expires-at"] = "2027-01-01T00:00:00Z" }),
		"no message":             edited(func(_, a map[string]any) { delete(a, "cosign.sigstore.dev/message") }),
		"a message of nothing":   edited(func(_, a map[string]any) { a["cosign.sigstore.dev/message"] = "" }),
		"another kind":           other,
		"a number that is none":  odd("first"),
		"none at all":            odd(`"0"`),
		"a number with a sign":   odd(`"+1"`),
		"a number without bound": odd(`"999"`),
		"as often as can be":     odd(`"998"`),
	} {
		draft, err := request.Renew(doc, request.Statements{ExpiresIn: "1d"}, &shape.Config{})
		expect.That(t, err != nil && err.Message != "", "%s: %v, %v", name, draft, err)
	}
}

func TestContinues(t *testing.T) {
	old, _ := sealed(t, signedOld)
	draft := renewed(t, old, request.Statements{ExpiresIn: "3d", Reason: "still none"})
	err := renewal.Continues(draft.Document, old)
	expect.That(t, err == nil, "the draft: %v", err)
	other, _ := sealed(t, strings.Replace(signedOld, "the vendor has no probe", "another", 1))
	expect.That(t, renewal.Continues(draft.Document, other) != nil, "it renews another message of the same name")
	expect.That(t, renewal.Continues(draft.Document, parse(t, signedOld)[0]) != nil, "it renews what was never signed")
	text := string(draft.Source)
	for name, change := range map[string][2]string{
		"skips one":           {`renewal: "1"`, `renewal: "2"`},
		"counts from nothing": {"    polex.dev/renewal: \"1\"\n", ""},
		"says nothing":        {"polex.dev/renews:", "polex.dev/renewed:"},
		"exempts more":        {"names: [web]", "names: [web, api]"},
		"exempts from more":   {"ruleNames: [check]", "ruleNames: [check, tag]"},
		"lives elsewhere":     {"namespace: team-a\n", "namespace: team-b\n"},
		"another digest":      {"@sha256:", "@sha256:0"},
		"another name":        {"web-probes-1a2b3c4d5e@", "web@"},
	} {
		changed := strings.Replace(text, change[0], change[1], 1)
		must.That(t, changed != text, "%s: nothing to change", name)
		expect.That(t, renewal.Continues(parse(t, changed)[0], old) != nil, "%s: it passes", name)
	}
}

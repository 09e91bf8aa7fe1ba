package guard_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/polex-dev/polex/internal/guard"
	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/test/attacks"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

const (
	hour   = time.Hour
	create = admissionv1.Create
	update = admissionv1.Update
)

// TestJudge: the decisions of the guard in addition to the verifier, one request each. A question
// from another client gets the same answer.
func TestJudge(t *testing.T) {
	w := inWorld(t)
	at := func(minutes int) time.Time { return now.Add(time.Duration(minutes) * time.Minute) }
	plain := w.sealed(t, draft("a", "exceptions", hour, ""), at(-10))
	newer := w.sealed(t, draft("a", "exceptions", 2*hour, ""), at(-5))
	other := w.sealed(t, draft("b", "exceptions", 2*hour, ""), at(-1))
	unlogged := w.sealed(t, draft("a", "exceptions", 3*hour, ""), time.Time{})
	unsigned := copied(t, plain, func(o object) { metadata(o)["annotations"] = object{"polex.dev/reason": "x"} })
	ended := w.sealed(t, draft("a", "exceptions", -time.Minute, ""), at(-4))
	wider := copied(t, plain, func(o object) { o["spec"].(object)["match"] = object{} })
	shown := copied(t, plain, func(o object) { o["apiVersion"] = "kyverno.io/v2beta1" })
	lacking := copied(t, shown, func(o object) { delete(o["spec"].(object), "match") })
	counted := copied(t, unsigned, func(o object) { o["spec"] = object{"n": 1} })
	dying := copied(t, plain, func(o object) {
		metadata(o)["deletionTimestamp"], metadata(o)["finalizers"] = "2026-01-01T00:00:00Z", []any{"foregroundDeletion", "a/b"}
	})
	without := func(o object, finalizers ...any) object {
		return copied(t, o, func(o object) {
			if metadata(o)["resourceVersion"] = "8"; len(finalizers) == 0 {
				delete(metadata(o), "finalizers")
			} else {
				metadata(o)["finalizers"] = finalizers
			}
		})
	}
	leaving := copied(t, dying, func(o object) { metadata(o)["annotations"] = metadata(ended)["annotations"] })
	beta := func(o object) object { return copied(t, o, func(o object) { o["apiVersion"] = "kyverno.io/v2beta1" }) }
	withStatus := func(o object) object { return copied(t, o, func(o object) { o["status"] = object{"a": 1} }) }
	revoked := func(c *trust.Config) {
		c.Revoked = []trust.RevocationConfig{{Authority: "release-key", SignedBefore: now.UTC().Format(time.RFC3339)}}
	}
	maps := func(c *trust.Config) { c.Kinds = []string{"ConfigMap"} }
	configMap := func(end time.Time) object {
		return w.sealed(t, fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: exceptions, annotations: {polex.dev/expires-at: %q}}\n",
			end.UTC().Format(time.RFC3339)), at(-4))
	}
	expiredMap := configMap(at(-1))
	for name, tc := range map[string]struct {
		operation   admissionv1.Operation
		object, old object
		settings    guard.Settings
		config      guard.Config
		trust       func(*trust.Config)
		request     func(*admissionv1.AdmissionRequest)
		want        string
	}{
		"signed":                       {operation: create, object: plain, want: "verified"},
		"signed, in a dry run":         {operation: create, object: plain, request: dryRun, want: "verified"},
		"unsigned, in a dry run":       {operation: create, object: unsigned, request: dryRun, want: "unsigned"},
		"unsigned update":              {operation: update, object: unsigned, old: plain, want: "unsigned"},
		"labelled":                     {operation: update, object: labelled(t, plain), old: plain, want: "altered"},
		"with a finalizer":             {operation: update, object: without(plain, "a/b"), old: plain, want: "altered"},
		"with an owner":                {operation: update, object: copied(t, plain, func(o object) { metadata(o)["ownerReferences"] = []any{object{"uid": "1"}} }), old: plain, want: "altered"},
		"applied, with kubectl's note": {operation: create, object: copied(t, plain, func(o object) { annotate(o, "kubectl.kubernetes.io/last-applied-configuration", "{}") }), want: "verified"},

		"deleted":   {operation: admissionv1.Delete, old: plain, want: "deleted"},
		"connected": {operation: admissionv1.Connect, object: plain, want: "operation-not-allowed"},
		"patched":   {operation: "PATCH", object: plain, want: "operation-not-allowed"},

		"the status of an unsigned one":     {operation: update, object: copied(t, unsigned, func(o object) { o["status"] = object{"a": 1} }), old: unsigned, request: subresource("status"), want: "status"},
		"more than the status":              {operation: update, object: copied(t, unsigned, func(o object) { o["status"], o["spec"] = 1, object{} }), old: unsigned, request: subresource("status"), want: "subresource-not-allowed"},
		"the status of what cannot be read": {operation: update, object: plain, old: object{}, request: func(r *admissionv1.AdmissionRequest) { subresource("status")(r); r.OldObject.Raw = []byte("[]") }, want: "malformed"},
		"its scale":                         {operation: update, object: plain, old: plain, request: subresource("scale"), want: "subresource-not-allowed"},

		"a finalizer goes":               {operation: update, object: without(dying, "a/b"), old: dying, want: "released"},
		"the last finalizer goes":        {operation: update, object: without(dying), old: dying, want: "released"},
		"of an unsigned one":             {operation: update, object: copied(t, without(dying), unseal), old: copied(t, dying, unseal), want: "released"},
		"no finalizer goes":              {operation: update, object: touched(t, dying), old: dying, want: "being-deleted"},
		"a finalizer comes":              {operation: update, object: without(dying, "foregroundDeletion", "c/d"), old: dying, want: "being-deleted"},
		"the spec too":                   {operation: update, object: copied(t, without(dying), func(o object) { o["spec"] = object{} }), old: dying, want: "being-deleted"},
		"a newer one while it goes":      {operation: update, object: newer, old: dying, want: "being-deleted"},
		"a finalizer goes from a living": {operation: update, object: copied(t, plain, unseal), old: without(copied(t, plain, unseal), "a/b"), want: "unsigned"},

		"another name":           {operation: create, object: plain, request: func(r *admissionv1.AdmissionRequest) { r.Name = "z" }, want: "wrong-object"},
		"no name in the request": {operation: create, object: plain, request: func(r *admissionv1.AdmissionRequest) { r.Name = "" }, want: "verified"},
		"another namespace":      {operation: create, object: plain, request: func(r *admissionv1.AdmissionRequest) { r.Namespace = "z" }, want: "wrong-object"},
		"another version":        {operation: create, object: plain, request: func(r *admissionv1.AdmissionRequest) { r.Kind.Version = "v2beta1" }, want: "wrong-object"},
		"converted": {operation: create, object: plain, request: func(r *admissionv1.AdmissionRequest) {
			asked := r.Kind
			asked.Version = "v2beta1"
			r.RequestKind = &asked
		}, want: "converted"},
		"not converted":             {operation: create, object: plain, request: func(r *admissionv1.AdmissionRequest) { asked := r.Kind; r.RequestKind = &asked }, want: "verified"},
		"its name is still to come": {operation: create, object: w.sealed(t, strings.Replace(draft("a", "exceptions", hour, ""), "name: a", "generateName: a-", 1), at(-1)), want: "generated-name"},
		"a key twice":               {operation: create, object: plain, request: func(r *admissionv1.AdmissionRequest) { r.Object.Raw = []byte(`{"kind":"A","kind":"B"}`) }, want: "malformed"},
		"no object":                 {operation: create, object: plain, request: func(r *admissionv1.AdmissionRequest) { r.Object.Raw = nil }, want: "malformed"},
		"nested beyond all measure": {operation: create, object: plain, request: func(r *admissionv1.AdmissionRequest) {
			r.Object.Raw = []byte(strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100))
		}, want: "malformed"},
		"where exceptions may stand":     {operation: create, object: plain, settings: guard.Settings{Namespaces: []string{"x", "excep*"}}, want: "verified"},
		"where one character may differ": {operation: create, object: plain, settings: guard.Settings{Namespaces: []string{"exception?"}}, want: "verified"},
		"where exceptions may not stand": {operation: create, object: plain, settings: guard.Settings{Namespaces: []string{"x", "exception"}}, want: "namespace-not-allowed"},

		"for this cluster":                 {operation: create, object: w.sealed(t, draft("a", "exceptions", hour, ", polex.dev/cluster: prod"), at(-1)), config: guard.Config{Cluster: "prod"}, want: "verified"},
		"for another cluster":              {operation: create, object: w.sealed(t, draft("a", "exceptions", hour, ", polex.dev/cluster: prod"), at(-1)), config: guard.Config{Cluster: "test"}, want: "another-cluster"},
		"for clusters by a pattern":        {operation: create, object: w.sealed(t, draft("a", "exceptions", hour, `, polex.dev/cluster: "test-1, prod-*"`), at(-1)), config: guard.Config{Cluster: "prod-eu"}, want: "verified"},
		"for other clusters":               {operation: create, object: w.sealed(t, draft("a", "exceptions", hour, `, polex.dev/cluster: "test-1, prod-*"`), at(-1)), config: guard.Config{Cluster: "prod"}, want: "another-cluster"},
		"for clusters without a name":      {operation: create, object: w.sealed(t, draft("a", "exceptions", hour, `, polex.dev/cluster: ","`), at(-1)), config: guard.Config{Cluster: "prod"}, want: "another-cluster"},
		"for a cluster, and this has none": {operation: create, object: w.sealed(t, draft("a", "exceptions", hour, ", polex.dev/cluster: prod"), at(-1)), want: "another-cluster"},
		"for any cluster":                  {operation: create, object: plain, config: guard.Config{Cluster: "prod"}, want: "verified"},
		"for any cluster, and one is due":  {operation: create, object: plain, settings: guard.Settings{RequireCluster: true}, config: guard.Config{Cluster: "prod"}, want: "no-cluster"},

		"exempts exceptions":      {operation: create, object: w.sealed(t, strings.Replace(draft("a", "exceptions", hour, ""), "kinds: [Pod]", "kinds: [PolicyException]", 1), at(-1)), want: "reaches-guard"},
		"from the guard's policy": {operation: create, object: w.sealed(t, strings.Replace(draft("a", "exceptions", hour, ""), "require-probes", "polex-verify", 1), at(-1)), want: "reaches-guard"},
		"from it, with more rules than a report has room for": {operation: create, want: "reaches-guard",
			object: w.sealed(t, strings.NewReplacer("require-probes", "polex-verify", "[check]", "["+strings.Repeat("'*', ", 4000)+"'*']").Replace(draft("a", "exceptions", hour, "")), at(-1))},
		"from it, behind many others": {operation: create, want: "reaches-guard",
			object: w.sealed(t, strings.Replace(draft("a", "exceptions", hour, ""), "exceptions: [", "exceptions: ["+strings.Repeat("{policyName: '?', ruleNames: ['*']}, ", 201)+"{policyName: polex-verify, ruleNames: [check]}, ", 1), at(-1))},
		"by a condition that is not recognised": {operation: create, object: w.sealed(t, conditional("object.kind.endsWith('eption')"), at(-1)), want: "reaches-guard"},
		"by a condition that is plain":          {operation: create, object: w.sealed(t, conditional("object.kind == 'Pod'"), at(-1)), want: "verified"},
		"from a policy of one's own":            {operation: create, object: plain, settings: guard.Settings{GuardPolicies: []string{"require-*"}}, want: "reaches-guard"},
		"in a namespace to guard":               {operation: create, object: plain, settings: guard.Settings{GuardNamespaces: []string{"team-a"}}, want: "reaches-guard"},

		"unsigned, as it is":                                 {operation: update, object: touched(t, unsigned), old: unsigned, want: "unchanged"},
		"expired, as it is":                                  {operation: update, object: touched(t, ended), old: ended, want: "expired"},
		"expired, in another version":                        {operation: update, object: touched(t, beta(ended)), old: beta(ended), want: "altered"},
		"expired, its status":                                {operation: update, object: withStatus(ended), old: ended, request: subresource("status"), want: "expired"},
		"expired, its status in another version":             {operation: update, object: withStatus(beta(ended)), old: beta(ended), request: subresource("status"), want: "expired"},
		"expired, and it is being deleted":                   {operation: update, object: without(leaving, "foregroundDeletion"), old: leaving, want: "released"},
		"expired and altered, its status":                    {operation: update, object: withStatus(labelled(t, ended)), old: labelled(t, ended), request: subresource("status"), want: "expired"},
		"revoked, as it is":                                  {operation: update, object: touched(t, plain), old: plain, trust: revoked, want: "withdrawn"},
		"revoked, its status":                                {operation: update, object: withStatus(plain), old: plain, trust: revoked, request: subresource("status"), want: "withdrawn"},
		"its status":                                         {operation: update, object: withStatus(plain), old: plain, request: subresource("status"), want: "status"},
		"of another kind and expired, as it is":              {operation: update, object: touched(t, expiredMap), old: expiredMap, trust: maps, want: "unchanged"},
		"of another kind and expired, its status":            {operation: update, object: withStatus(expiredMap), old: expiredMap, trust: maps, request: subresource("status"), want: "status"},
		"altered, as it is":                                  {operation: update, object: touched(t, wider), old: wider, want: "unchanged"},
		"in another version, as it is":                       {operation: update, object: touched(t, shown), old: shown, want: "unchanged"},
		"in a version that shows less":                       {operation: update, object: touched(t, lacking), old: lacking, want: "altered"},
		"in another version, labelled":                       {operation: update, object: labelled(t, shown), old: shown, want: "altered"},
		"labelled, as is allowed":                            {operation: update, object: labelled(t, plain), old: plain, trust: allowed, want: "verified"},
		"created with what is allowed":                       {operation: create, object: labelled(t, plain), trust: allowed, want: "verified"},
		"labelled otherwise":                                 {operation: create, object: labelled(t, plain), trust: func(c *trust.Config) { c.AllowedMetadata.Labels = map[string]string{"a": "c"} }, want: "altered"},
		"in another version, as it is, with what is allowed": {operation: update, object: touched(t, labelled(t, shown)), old: labelled(t, shown), trust: allowed, want: "unchanged"},
		"in another version, created":                        {operation: create, object: shown, want: "altered"},
		"unsigned, by its spec":                              {operation: update, object: copied(t, unsigned, func(o object) { o["spec"] = object{} }), old: unsigned, want: "unsigned"},
		"unsigned, by a number's type":                       {operation: update, object: copied(t, counted, func(o object) { o["spec"] = object{"n": "1"} }), old: counted, want: "unsigned"},
		"unsigned, by an owner":                              {operation: update, object: copied(t, unsigned, func(o object) { metadata(o)["ownerReferences"] = []any{object{"uid": "1"}} }), old: unsigned, want: "unsigned"},
		"unsigned, and a field is null":                      {operation: update, object: copied(t, unsigned, func(o object) { o["spec"].(object)["background"] = nil }), old: unsigned, want: "unsigned"},
		"as it is, and converted": {operation: update, object: touched(t, shown), old: shown, request: func(r *admissionv1.AdmissionRequest) {
			asked := r.Kind
			asked.Version = "v2"
			r.RequestKind = &asked
		}, want: "converted"},
		"another one, as it is": {operation: update, object: touched(t, unsigned), old: unsigned, request: func(r *admissionv1.AdmissionRequest) { r.Name = "z" }, want: "wrong-object"},

		"newer":                                      {operation: update, object: newer, old: plain, want: "verified"},
		"older":                                      {operation: update, object: plain, old: newer, want: "rollback"},
		"older, shown in another version":            {operation: update, object: plain, old: copied(t, newer, func(o object) { o["apiVersion"] = "kyverno.io/v2beta1" }), want: "rollback"},
		"the same again":                             {operation: update, object: newer, old: newer, want: "verified"},
		"older, but what is there is not signed":     {operation: update, object: plain, old: unsigned, want: "verified"},
		"older, but what is there is by nobody":      {operation: update, object: plain, old: copied(t, newer, func(o object) { annotate(o, "cosign.sigstore.dev/signature", "AAAA") }), want: "verified"},
		"older, but what is there is another's seal": {operation: update, object: plain, old: copied(t, other, func(o object) { metadata(o)["name"] = "a" }), want: "verified"},
		"older than what was altered since":          {operation: update, object: plain, old: copied(t, newer, func(o object) { o["spec"] = object{} }), want: "rollback"},
		"older, and logged again": {operation: update, want: "rollback",
			object: w.sealed(t, draft("a", "exceptions", hour, stating(-3*hour)), at(-1)),
			old:    w.sealed(t, draft("a", "exceptions", 4*hour, stating(-2*hour)), at(-2))},
		"older, without its time, and logged again": {operation: update, want: "rollback",
			object: w.sealed(t, draft("a", "exceptions", hour, ""), at(-1)),
			old:    w.sealed(t, draft("a", "exceptions", 4*hour, stating(-2*hour)), at(-2))},
		"newer by its own time": {operation: update, want: "verified",
			object: w.sealed(t, draft("a", "exceptions", hour, stating(-hour)), at(-2)),
			old:    w.sealed(t, draft("a", "exceptions", 4*hour, stating(-2*hour)), at(-1))},
		"with its time, where there was none": {operation: update, want: "verified",
			object: w.sealed(t, draft("a", "exceptions", hour, stating(-hour)), at(-2)),
			old:    w.sealed(t, draft("a", "exceptions", 4*hour, ""), at(-1))},
		"without a policy of the stored one":  {operation: update, object: newer, old: naming(t, plain, "require-limits"), want: "drops-policy"},
		"with all of its policies":            {operation: update, object: newer, old: naming(t, plain, "require-probes"), want: "verified"},
		"without a policy of an unsigned one": {operation: update, object: newer, old: naming(t, unsigned, "require-limits"), want: "drops-policy"},
		"without a policy, of conditions": {operation: update, want: "drops-policy",
			object: w.sealed(t, conditional("object.kind == 'Pod'"), at(-1)),
			old:    w.sealed(t, strings.Replace(conditional("object.kind == 'Pod'"), "[{name:", "[{name: a, kind: MutatingPolicy}, {name:", 1), at(-2))},
		"in place of what cannot be read": {operation: update, object: plain, old: object{}, want: "drops-policy", request: func(r *admissionv1.AdmissionRequest) { r.OldObject.Raw = []byte("[]") }},
		"of another kind, in place of what cannot be read": {operation: update, object: configMap(at(1)), old: object{}, trust: maps, want: "verified",
			request: func(r *admissionv1.AdmissionRequest) { r.OldObject.Raw = []byte("[]") }},

		"unwitnessed, and so was what is there":      {operation: update, object: unlogged, old: w.sealed(t, draft("a", "exceptions", 4*hour, ""), time.Time{}), trust: withoutLog, want: "rollback"},
		"unwitnessed, and what is there was":         {operation: update, object: unlogged, old: plain, trust: withoutLog, want: "rollback"},
		"witnessed, and what is there was not":       {operation: update, object: plain, old: unlogged, trust: withoutLog, want: "verified"},
		"unwitnessed, the same again":                {operation: update, object: unlogged, old: unlogged, trust: withoutLog, want: "verified"},
		"newer, but it has expired":                  {operation: update, object: w.sealed(t, draft("a", "exceptions", -time.Minute, ""), at(-4)), old: plain, want: "expired"},
		"one fewer than may stand there":             {operation: create, object: plain, settings: guard.Settings{MaxPerNamespace: 3}, config: counts(2), want: "verified"},
		"as many as may stand there":                 {operation: create, object: plain, settings: guard.Settings{MaxPerNamespace: 3}, config: counts(3), want: "too-many"},
		"an update where as many stand as may":       {operation: update, object: newer, old: plain, settings: guard.Settings{MaxPerNamespace: 3}, config: counts(3), want: "verified"},
		"a limit and nobody who counts":              {operation: create, object: plain, settings: guard.Settings{MaxPerNamespace: 3}, want: "undecided"},
		"a limit and a count that fails":             {operation: create, object: plain, settings: guard.Settings{MaxPerNamespace: 3}, config: guard.Config{Count: func(context.Context, exception.GroupKind, string) (int, error) { return 0, context.Canceled }}, want: "undecided"},
		"a kind that the trust policy does not name": {operation: create, object: object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": "a", "namespace": "b"}}, want: "kind-not-allowed"},
		"a panic while it counts":                    {operation: create, object: plain, settings: guard.Settings{MaxPerNamespace: 3}, config: guard.Config{Count: func(context.Context, exception.GroupKind, string) (int, error) { panic("x") }}, want: "undecided"},
	} {
		t.Run(name, func(t *testing.T) {
			h := handler(t, w.rules(t, tc.settings, tc.trust), tc.config)
			r := request(t, tc.operation, asJSON(t, tc.object), asJSON(t, tc.old))
			if tc.request != nil {
				tc.request(r)
			}
			response, w := post(t, h, body(t, r))
			must.That(t, response != nil, "%d %s", w.Code, w.Body)
			expect.Is(t, "result", tc.want, reasonOf(t, response))
		})
	}
}

// touched returns an object with changes only in the fields that the API server writes.
func touched(t *testing.T, o object) object {
	t.Helper()
	return copied(t, o, func(o object) {
		metadata(o)["resourceVersion"], metadata(o)["generation"], metadata(o)["managedFields"] = "9", 2, []any{object{"manager": "migrate"}}
	})
}

func labelled(t *testing.T, o object) object {
	t.Helper()
	return copied(t, o, func(o object) { metadata(o)["labels"] = object{"a": "b"} })
}

// naming returns an exception that names one policy.
func naming(t *testing.T, o object, policy string) object {
	t.Helper()
	return copied(t, o, func(o object) {
		o["spec"].(object)["exceptions"] = []any{object{"policyName": policy, "ruleNames": []any{"check"}}}
	})
}

func allowed(c *trust.Config) { c.AllowedMetadata.Labels = map[string]string{"a": "b"} }

func dryRun(r *admissionv1.AdmissionRequest) { yes := true; r.DryRun = &yes }

func subresource(name string) func(*admissionv1.AdmissionRequest) {
	return func(r *admissionv1.AdmissionRequest) { r.SubResource = name }
}

func unseal(o object) { metadata(o)["annotations"] = object{"a": "b"} }

func annotate(o object, key, value string) { metadata(o)["annotations"].(object)[key] = value }

func withoutLog(c *trust.Config) { c.Authorities[0].InsecureWithoutLog = true }

func counts(n int) guard.Config {
	return guard.Config{Count: func(_ context.Context, kind exception.GroupKind, namespace string) (int, error) {
		if kind.String() != "PolicyException.kyverno.io" || namespace != "exceptions" {
			return 0, context.Canceled
		}
		return n, nil
	}}
}

// TestKnownPolicies: guard.policies and guard.allowInKyverno determine the result for every signer.
func TestKnownPolicies(t *testing.T) {
	w := inWorld(t)
	read := func(text string) *kyverno.PolicySet {
		doc := must.Get(exception.Parse([]byte(text), ""))(t)
		return kyverno.ReadPolicies([]*exception.Document{doc})
	}
	policies := func(resources string) *kyverno.PolicySet {
		return read("apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {name: require-probes}\nspec: {matchConstraints: {resourceRules: [{apiGroups: ['*'], apiVersions: ['*'], operations: [CREATE], resources: [" + resources + "]}]}}\n")
	}
	pods := func(kinds string) *kyverno.PolicySet {
		return read("apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: require-probes}\nspec: {rules: [{name: check, match: {any: [{resources: {kinds: [" + kinds + "]}}]}}]}\n")
	}
	label := w.sealed(t, conditional("object.metadata.labels.app == 'web'"), now.Add(-time.Minute))
	own := w.sealed(t, strings.Replace(draft("a", "exceptions", hour, ""), "names: [web-*], namespaces: [team-a]", "names: [kyverno-0], namespaces: [kyverno]", 1), now.Add(-time.Minute))
	admitting := guard.Settings{AllowInKyverno: []string{"require-probes Pod/kyverno-0"}}
	for name, tc := range map[string]struct {
		object   object
		settings guard.Settings
		known    *kyverno.PolicySet
		want     string
	}{
		"no policies known":              {object: label, want: "reaches-guard"},
		"another policy known":           {object: label, known: kyverno.ReadPolicies(nil), want: "reaches-guard"},
		"a policy for Pods":              {object: label, known: policies("pods"), want: "verified"},
		"a policy for anything":          {object: label, known: policies("'*'"), want: "reaches-guard"},
		"a policy for Pods that guards":  {object: label, known: policies("pods"), settings: guard.Settings{GuardPolicies: []string{"require-probes"}}, want: "reaches-guard"},
		"in kyverno, not admitted":       {object: own, known: pods("Pod"), want: "reaches-guard"},
		"in kyverno, admitted":           {object: own, settings: admitting, known: pods("Pod"), want: "verified"},
		"in kyverno, no policies known":  {object: own, settings: admitting, want: "reaches-guard"},
		"in kyverno, another group":      {object: own, settings: admitting, known: policies("pods"), want: "reaches-guard"},
		"in kyverno, any kind":           {object: own, settings: admitting, known: pods("'*'"), want: "reaches-guard"},
		"in kyverno, where the guard is": {object: own, settings: guard.Settings{AllowInKyverno: admitting.AllowInKyverno, GuardNamespaces: []string{"kyverno"}}, known: pods("Pod"), want: "reaches-guard"},
	} {
		t.Run(name, func(t *testing.T) {
			h := handler(t, w.rules(t, tc.settings, nil).WithPolicies(tc.known), guard.Config{})
			response, answer := post(t, h, body(t, request(t, admissionv1.Create, asJSON(t, tc.object), nil)))
			if response == nil {
				t.Fatalf("%d %s", answer.Code, answer.Body)
			}
			expect.Is(t, "result", tc.want, reasonOf(t, response))
		})
	}
}

// TestCorpus sends a CREATE for every document of the attack corpus. If the API server could send
// such a review, the guard has to answer as the verifier does.
func TestCorpus(t *testing.T) {
	cases := must.Get(attacks.Read())(t)
	const fewest = 450
	asked := 0
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			h := handler(t, rulesOf(t, c), guard.Config{Now: func() time.Time { return c.Now }})
			reader := exception.NewReader(strings.NewReader(string(c.Input)), c.File)
			for _, want := range c.Expect {
				doc, err := reader.Next()
				must.That(t, !errors.Is(err, io.EOF), "there is no document that could be %s", want)
				if err != nil {
					continue // a client cannot encode it as JSON
				}
				if want == "duplicate-identity" {
					want = attacks.Verified // the API server knows the object
				}
				if _, narrowed := doc.Lookup("spec", "matchConditions"); want == attacks.Verified && doc.GroupKind().Group == exception.PoliciesGroup && !narrowed {
					want = guard.ReasonReachesGuard // the verifier does not check the exempted resources
				}
				asked++
				got := judged(t, h, request(t, admissionv1.Create, jsonOf(t, doc), nil))
				expect.Is(t, c.Title, want, got)
			}
		})
	}
	expect.That(t, asked >= fewest, "%d documents were asked for, want %d", asked, fewest)
}

func jsonOf(t *testing.T, doc *exception.Document) []byte {
	t.Helper()
	if doc.JSON() {
		return doc.Source()
	}
	return must.Get(json.Marshal(doc.Object()))(t)
}

// rulesOf returns rules for the policy and root of a case.
func rulesOf(t *testing.T, c *attacks.Case) *guard.Rules {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, attacks.RootFile, c.Root)
	doc := must.Get(exception.Parse(c.Policy, attacks.PolicyFile))(t)
	config := must.Get(trust.Read(doc, dir))(t)
	return must.Get(guard.NewRules(config, guard.Settings{}, "sha256:corpus"))(t)
}

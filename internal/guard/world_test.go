package guard_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/polex-dev/polex/internal/guard"
	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/internal/sandbox/sandboxtest"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// now is the time of all cases that state no other time. The key of the log has been valid for a while then.
var now = time.Now().Add(time.Hour).Truncate(time.Second)

type object = map[string]any

// world is a Sigstore with log times that a test chooses, and a trusted key.
type world struct {
	*sandbox.Sandbox
	key    *ecdsa.PrivateKey
	public string // PEM
}

var box sandboxtest.Shared

func TestMain(m *testing.M) { sandboxtest.Main(m, &box) }

var theWorld = sync.OnceValues(func() (*world, error) {
	s, err := box.Start()
	if err != nil {
		return nil, err
	}
	w := &world{Sandbox: s}
	if w.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKIXPublicKey(w.key.Public())
	w.public = string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	return w, err
})

func inWorld(t testing.TB) *world {
	t.Helper()
	return must.Get(theWorld())(t)
}

func (w *world) config() trust.Config {
	return trust.Config{TrustedRoot: w.TrustedRootPath, Authorities: []trust.AuthorityConfig{{Name: "release-key", Key: w.public}}}
}

// rules returns rules that trust the world's key, with a log or, for unlogged, without one.
func (w *world) rules(t testing.TB, settings guard.Settings, bend func(*trust.Config)) *guard.Rules {
	t.Helper()
	config := w.config()
	if bend != nil {
		bend(&config)
	}
	return must.Get(guard.NewRules(config, settings, "sha256:test"))(t)
}

// draft returns an exception that expires this long after now.
func draft(name, namespace string, lives time.Duration, more string) string {
	return fmt.Sprintf(`apiVersion: kyverno.io/v2
kind: PolicyException
metadata:
  name: %s
  namespace: %s
  annotations: {polex.dev/expires-at: "%s"%s}
spec:
  exceptions: [{policyName: require-probes, ruleNames: [check]}]
  match: {any: [{resources: {kinds: [Pod], names: [web-*], namespaces: [team-a]}}]}
`, name, namespace, now.Add(lives).UTC().Format(time.RFC3339), more)
}

// stating returns more annotations of a draft, for this long after now.
func stating(signed time.Duration) string {
	return fmt.Sprintf(`, polex.dev/signed-at: %q`, now.Add(signed).UTC().Format(time.RFC3339))
}

// conditional returns an exception of policies.kyverno.io.
func conditional(expression string) string {
	return fmt.Sprintf(`apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata: {name: a, namespace: exceptions}
spec:
  expiresAt: "%s"
  policyRefs: [{name: require-probes, kind: ValidatingPolicy}]
  matchConditions: [{name: only, expression: "%s"}]
`, now.Add(hour).UTC().Format(time.RFC3339), expression)
}

// sealed signs a draft with this log time; zero is without a log.
func (w *world) sealed(t testing.TB, draft string, at time.Time) object {
	t.Helper()
	doc := must.Get(exception.Parse([]byte(draft), "draft"))(t)
	message := must.Get(seal.Message(doc))(t)
	digest := sha256.Sum256(message)
	signature := must.Get(ecdsa.SignASN1(rand.Reader, w.key, digest[:]))(t)
	set := seal.Signature{Signature: signature}
	if !at.IsZero() {
		set.Bundle = w.logged(t, digest[:], signature, at)
	}
	whole := must.Get(seal.Attach(doc, &seal.Seal{Message: message, Signatures: []seal.Signature{set}}))(t)
	return whole.Object()
}

func (w *world) logged(t testing.TB, digest, signature []byte, at time.Time) *seal.RekorBundle {
	t.Helper()
	body := must.Get(json.Marshal(object{"apiVersion": "0.0.1", "kind": "hashedrekord", "spec": object{
		"data":      object{"hash": object{"algorithm": "sha256", "value": hex.EncodeToString(digest)}},
		"signature": object{"content": signature, "publicKey": object{"content": []byte(w.public)}},
	}}))(t)
	entry := must.Get(w.ForgeEntry(t.Context(), body, at))(t)
	return &seal.RekorBundle{SignedEntryTimestamp: entry.Verification.SignedEntryTimestamp, Payload: seal.RekorPayload{
		Body: entry.Body.(string), IntegratedTime: *entry.IntegratedTime, LogIndex: *entry.LogIndex, LogID: *entry.LogID,
	}}
}

// copied returns a changed deep copy of an object.
func copied(t testing.TB, o object, change func(object)) object {
	t.Helper()
	raw := must.Get(json.Marshal(o))(t)
	var c object
	must.Do(t, json.Unmarshal(raw, &c))
	if change != nil {
		change(c)
	}
	return c
}

func metadata(o object) object { return o["metadata"].(object) }

func write(t testing.TB, dir, name string, text []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	must.Do(t, os.WriteFile(path, text, 0o600))
	return path
}

// handler returns a handler with these rules, at the time now unless the configuration has a clock.
func handler(t testing.TB, rules *guard.Rules, c guard.Config) *guard.Handler {
	t.Helper()
	c.Rules = &guard.Current{}
	if rules != nil {
		c.Rules.Replace(rules)
	}
	if c.Now == nil {
		c.Now = func() time.Time { return now }
	}
	return must.Get(guard.NewHandler(c))(t)
}

// request returns the request of the API server about an object, as JSON.
func request(t testing.TB, operation admissionv1.Operation, raw, old []byte) *admissionv1.AdmissionRequest {
	t.Helper()
	about := raw
	if operation == admissionv1.Delete {
		about = old
	}
	doc := must.Get(exception.Parse(about, "object"))(t)
	id := doc.Identity()
	r := &admissionv1.AdmissionRequest{
		UID: "5f0b", Operation: operation, Name: id.Name, Namespace: id.Namespace,
		Kind: metav1.GroupVersionKind{Group: id.Group, Version: doc.Version(), Kind: id.Kind},
	}
	r.Object.Raw, r.OldObject.Raw = raw, old
	return r
}

func asJSON(t testing.TB, o object) []byte {
	t.Helper()
	if o == nil {
		return nil
	}
	return must.Get(json.Marshal(o))(t)
}

func body(t testing.TB, r *admissionv1.AdmissionRequest) []byte {
	t.Helper()
	raw, err := json.Marshal(admissionv1.AdmissionReview{TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"}, Request: r})
	must.Do(t, err)
	return raw
}

// post sends a review and returns the answer.
func post(t testing.TB, h http.Handler, raw []byte) (*admissionv1.AdmissionResponse, *httptest.ResponseRecorder) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/admit?timeout=10s", bytes.NewReader(raw)))
	if w.Code != http.StatusOK {
		return nil, w
	}
	var review admissionv1.AdmissionReview
	err := json.Unmarshal(w.Body.Bytes(), &review)
	must.That(t, err == nil && review.Response != nil, "%v: %s", err, w.Body)
	return review.Response, w
}

// judged returns the reason in the answer to a request.
func judged(t testing.TB, h http.Handler, r *admissionv1.AdmissionRequest) string {
	t.Helper()
	response, w := post(t, h, body(t, r))
	must.That(t, response != nil, "%d %s", w.Code, w.Body)
	expect.That(t, response.UID == r.UID, "the answer is to %q, not to %q", response.UID, r.UID)
	return reasonOf(t, response)
}

// reasonOf returns the reason of an answer and checks that its parts agree.
func reasonOf(t testing.TB, response *admissionv1.AdmissionResponse) string {
	t.Helper()
	reason := response.AuditAnnotations["reason"]
	if response.Allowed {
		expect.That(t, response.Result == nil, "it is allowed, and says %v", response.Result)
		return reason
	}
	result := response.Result
	if prefix := "[" + reason + "] "; result == nil || len(result.Message) < len(prefix) || result.Message[:len(prefix)] != prefix || result.Code < 400 ||
		string(result.Details.Causes[0].Type) != reason {
		t.Errorf("refused for %q, and it says %v", reason, result)
	}
	expect.That(t, len(result.Message) <= 1024, "the message has %d bytes", len(result.Message))
	return reason
}

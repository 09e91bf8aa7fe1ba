package guard_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/guard"
	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/internal/sandbox/sandboxtest"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/trust"
)

// now is the time of all cases that state no other time. The key of the log has been valid for a
// while then.
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
	w, err := theWorld()
	if err != nil {
		t.Fatal(err)
	}
	return w
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
	rules, err := guard.NewRules(config, settings, "sha256:test")
	if err != nil {
		t.Fatal(err)
	}
	return rules
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
	doc, err := exception.Parse([]byte(draft), "draft")
	if err != nil {
		t.Fatal(err)
	}
	message, err := seal.Message(doc)
	if err != nil {
		t.Fatal(err)
	}
	digest := sha256.Sum256(message)
	signature, err := ecdsa.SignASN1(rand.Reader, w.key, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	set := seal.Signature{Signature: signature}
	if !at.IsZero() {
		set.Bundle = w.logged(t, digest[:], signature, at)
	}
	whole, err := seal.Attach(doc, &seal.Seal{Message: message, Signatures: []seal.Signature{set}})
	if err != nil {
		t.Fatal(err)
	}
	return whole.Object()
}

func (w *world) logged(t testing.TB, digest, signature []byte, at time.Time) *seal.RekorBundle {
	t.Helper()
	body, err := json.Marshal(object{"apiVersion": "0.0.1", "kind": "hashedrekord", "spec": object{
		"data":      object{"hash": object{"algorithm": "sha256", "value": hex.EncodeToString(digest)}},
		"signature": object{"content": signature, "publicKey": object{"content": []byte(w.public)}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	entry, err := w.ForgeEntry(t.Context(), body, at)
	if err != nil {
		t.Fatal(err)
	}
	return &seal.RekorBundle{SignedEntryTimestamp: entry.Verification.SignedEntryTimestamp, Payload: seal.RekorPayload{
		Body: entry.Body.(string), IntegratedTime: *entry.IntegratedTime, LogIndex: *entry.LogIndex, LogID: *entry.LogID,
	}}
}

// copied returns a changed deep copy of an object.
func copied(t testing.TB, o object, change func(object)) object {
	t.Helper()
	raw, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	var c object
	if err := json.Unmarshal(raw, &c); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(c)
	}
	return c
}

func metadata(o object) object { return o["metadata"].(object) }

func write(t testing.TB, dir, name string, text []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

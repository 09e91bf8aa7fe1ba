package interop_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sigstore/cosign/v2/pkg/cosign"
	"github.com/sigstore/k8s-manifest-sigstore/pkg/k8smanifest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/sign"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// resolved returns a text with an expiry in place of a duration, which the peer's signer does not convert.
func resolved(text string) string {
	return strings.Replace(text, "polex.dev/expires-in: 7d", "polex.dev/expires-at: 2099-12-31T00:00:00Z", 1)
}

func byKey(path string) func(*k8smanifest.SignOption) {
	return func(so *k8smanifest.SignOption) { so.KeyPath, so.PassFunc = path, pass }
}

func keyless(*k8smanifest.SignOption) {}

// polex verifies the peer's logged signatures, by key and keyless.
func TestOursVerifiesPeers(t *testing.T) {
	key := newKey(t)
	for name, text := range texts {
		if name == "JSON" {
			continue // the peer's signer reads YAML files only
		}
		for how, tc := range map[string]struct {
			sign      func(*k8smanifest.SignOption)
			authority trust.AuthorityConfig
			checked   []string
		}{
			"by key":  {byKey(key.private), trust.AuthorityConfig{Name: "team", Key: key.publicPEM}, []string{"public-key", "signed-entry-timestamp"}},
			"keyless": {keyless, workflow(), []string{"certificate-chain", "sct", "signed-entry-timestamp"}},
		} {
			t.Run(name+", "+how, func(t *testing.T) {
				doc := parse(t, peerSigns(t, unique(t, resolved(text)), tc.sign))
				opened := must.Get(verifier(t, tc.authority).Verify(doc, time.Now()))(t)
				got := opened.Signatures()
				expect.That(t, len(got) == 1 && got[0].Authority == tc.authority.Name && !got[0].WitnessedAt.IsZero(),
					"evidence %+v, want one witnessed signature of %s", got, tc.authority.Name)
				expect.Equal(t, "checked", tc.checked, got[0].Checked)
			})
		}
	}
}

// unique makes a message that is not in the log yet: the peer finds its entry by a search for the message.
func unique(t *testing.T, text string) string {
	t.Helper()
	digest := sha256.Sum256([]byte(t.Name()))
	return strings.Replace(text, "namespace: team-a\n", fmt.Sprintf("namespace: team-%x\n", digest[:8]), 1)
}

// Missing evidence is a rejection.
func TestOursRefusesIncomplete(t *testing.T) {
	key := newKey(t)
	text := resolved(texts["policies.kyverno.io"])
	byTeam := trust.AuthorityConfig{Name: "team", Key: key.publicPEM}
	without := byTeam
	without.InsecureWithoutLog = true
	unlogged := peerSigns(t, text, func(so *k8smanifest.SignOption) {
		byKey(key.private)(so)
		so.NoTlogUpload = true
	})
	logged := peerSigns(t, text, byKey(key.private))
	byWorkflow := peerSigns(t, unique(t, text), keyless)
	for _, tc := range []struct {
		name, text string
		authority  trust.AuthorityConfig
		want       string // "" for accepted
	}{
		{"signed without a log", unlogged, byTeam, verify.ReasonNoLogEntry},
		{"signed without a log, which the policy allows", unlogged, without, ""},
		{"the bundle removed", drop(t, logged, bundleKey), byTeam, verify.ReasonNoLogEntry},
		{"keyless, the bundle removed", drop(t, byWorkflow, bundleKey), workflow(), verify.ReasonNoLogEntry},
		{"keyless, the certificate removed", drop(t, byWorkflow, certificateKey), workflow(), verify.ReasonUnknownKey},
		{"the signature removed", drop(t, logged, signatureKey), byTeam, verify.ReasonMalformedSignature},
		{"the message removed", drop(t, logged, messageKey), byTeam, verify.ReasonMalformedSignature},
		{"another key", logged, trust.AuthorityConfig{Name: "other", Key: newKey(t).publicPEM}, verify.ReasonUnknownKey},
		{"a key where a workflow is asked for", logged, workflow(), verify.ReasonUnknownKey},
		{"a workflow where a key is asked for", byWorkflow, byTeam, verify.ReasonWrongIdentity},
		{"no expiry", peerSigns(t, strings.Replace(text, "    polex.dev/expires-at: 2099-12-31T00:00:00Z\n", "    a: b\n", 1), byKey(key.private)), byTeam, verify.ReasonNoExpiry},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := verifier(t, tc.authority).Verify(parse(t, tc.text), time.Now())
			expect.Is(t, "reason", tc.want, reasonOf(t, err))
		})
	}
}

// reasonOf returns the reason of a rejection, or "".
func reasonOf(t *testing.T, err error) string {
	t.Helper()
	var rejected *verify.Rejected
	if errors.As(err, &rejected) {
		return rejected.Reason
	}
	must.Do(t, err)
	return ""
}

// A second signature of the peer counts like the first. A second signature with the log entry of the first is rejected.
func TestOursVerifiesAppended(t *testing.T) {
	for _, tc := range []struct {
		name     string
		unlogged bool
		want     string // "" for accepted
	}{
		{"without a log, which the policy allows", true, ""},
		{"with the entry of the first", false, verify.ReasonLogEntryMismatch},
	} {
		t.Run(tc.name, func(t *testing.T) {
			first, second := newKey(t), newKey(t)
			once := peerSigns(t, unique(t, resolved(texts["policies.kyverno.io"])), func(so *k8smanifest.SignOption) {
				byKey(first.private)(so)
				so.NoTlogUpload = tc.unlogged
			})
			twice := peerSigns(t, once, func(so *k8smanifest.SignOption) {
				byKey(second.private)(so)
				so.NoTlogUpload, so.AppendSignature = tc.unlogged, true
			})
			policy := must.Get(trust.New(trust.Config{Threshold: 2, Authorities: []trust.AuthorityConfig{
				{Name: "first", Key: first.publicPEM, InsecureWithoutLog: tc.unlogged},
				{Name: "second", Key: second.publicPEM, InsecureWithoutLog: tc.unlogged},
			}}, world.root))(t)
			v := must.Get(verify.New(policy))(t)
			opened, err := v.Verify(parse(t, twice), time.Now())
			expect.Is(t, "reason", tc.want, reasonOf(t, err))
			expect.That(t, err != nil || len(opened.Signatures()) == 2, "%+v, want 2 signatures", opened)
			_, err = v.Verify(parse(t, once), time.Now())
			expect.Is(t, "one signature alone", verify.ReasonTooFewAuthorities, reasonOf(t, err))
		})
	}
}

// object reads a manifest like a Kubernetes client.
func object(tb testing.TB, text string) unstructured.Unstructured {
	tb.Helper()
	raw := must.Get(yaml.YAMLToJSONStrict([]byte(text)))(tb)
	var obj unstructured.Unstructured
	must.Do(tb, obj.UnmarshalJSON(raw))
	return obj
}

// peerOptions returns the peer's defaults for one signer, without a dry run in a cluster.
func peerOptions(edit func(*k8smanifest.VerifyResourceOption)) *k8smanifest.VerifyResourceOption {
	vo := k8smanifest.LoadDefaultConfig()
	vo.DisableDryRun = true
	vo.RekorURL = world.RekorURL
	edit(vo)
	return vo
}

func byWorkflow(vo *k8smanifest.VerifyResourceOption) {
	vo.Signers = k8smanifest.SignerList{subject()}
	vo.OIDCIssuer = world.IssuerURL
}

// peerVerifies reports whether the peer verifies the object. An error of the peer is a rejection.
func peerVerifies(tb testing.TB, obj unstructured.Unstructured, edit func(*k8smanifest.VerifyResourceOption)) (bool, *k8smanifest.VerifyResourceResult, error) {
	tb.Helper()
	defer quiet(tb)()
	result, err := k8smanifest.VerifyResource(obj, peerOptions(edit))
	return err == nil && result.Verified, result, err
}

// quiet hides the peer's prompts and raw signatures from the test's output, and the test's input
// from the peer, until restore is called.
func quiet(tb testing.TB) (restore func()) {
	tb.Helper()
	null := must.Get(os.OpenFile(os.DevNull, os.O_RDWR, 0))(tb)
	in, out, errs := os.Stdin, os.Stdout, os.Stderr
	os.Stdin, os.Stdout, os.Stderr = null, null, null
	return func() {
		os.Stdin, os.Stdout, os.Stderr = in, out, errs
		_ = null.Close()
	}
}

// keyFiles is a key pair of cosign in files, as the peer needs it.
type keyFiles struct {
	private, public string // paths
	publicPEM       string
	privatePEM      []byte
}

const keyPassword = "correct horse"

func pass(bool) ([]byte, error) { return []byte(keyPassword), nil }

func newKey(tb testing.TB) keyFiles {
	tb.Helper()
	keys := must.Get(cosign.GenerateKeyPair(pass))(tb)
	dir := tb.TempDir()
	k := keyFiles{filepath.Join(dir, "cosign.key"), filepath.Join(dir, "cosign.pub"), string(keys.PublicBytes), keys.PrivateBytes}
	for path, raw := range map[string][]byte{k.private: keys.PrivateBytes, k.public: keys.PublicBytes} {
		must.Do(tb, os.WriteFile(path, raw, 0o600))
	}
	return k
}

// peerSigns returns a manifest as the peer's signer signs it.
func peerSigns(tb testing.TB, text string, edit func(*k8smanifest.SignOption)) string {
	tb.Helper()
	// The peer leaves the key's password in the environment.
	if t, ok := tb.(*testing.T); ok {
		t.Setenv("COSIGN_PASSWORD", "")
	}
	dir := tb.TempDir()
	in := filepath.Join(dir, "in.yaml")
	must.Do(tb, os.WriteFile(in, []byte(text), 0o600))
	tarball := false
	so := &k8smanifest.SignOption{Output: filepath.Join(dir, "out.yaml"), UpdateAnnotation: true, Tarball: &tarball}
	so.RekorURL = world.RekorURL
	so.Force = true // without a prompt
	edit(so)
	restore := quiet(tb)
	out, err := k8smanifest.Sign(in, so)
	restore()
	must.That(tb, err == nil, "the peer does not sign: %v", err)
	return string(out)
}

// The peer verifies a document signed by polex, as it is in Git and as it is in a cluster.
func TestPeerVerifiesOurs(t *testing.T) {
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			for where, obj := range map[string]unstructured.Unstructured{
				"in Git": object(t, sealed(t, text)), "in a cluster": live(t, sealed(t, text)),
			} {
				ok, result, err := peerVerifies(t, obj, byWorkflow)
				must.That(t, ok, "%s: the peer refuses: %v, %v", where, result, err)
				expect.Is(t, where+": signer", subject(), result.Signer)
			}
		})
	}
}

// live returns a manifest with the additions of the API server and kubectl.
func live(t *testing.T, text string) unstructured.Unstructured {
	t.Helper()
	obj := object(t, text)
	obj.SetUID("5a0db0c0-ffee-4a0d-8b0c-0ffee5a0db0c")
	obj.SetResourceVersion("4711")
	obj.SetGeneration(1)
	obj.SetCreationTimestamp(now())
	annotations := obj.GetAnnotations()
	annotations["kubectl.kubernetes.io/last-applied-configuration"] = "{}"
	obj.SetAnnotations(annotations)
	return obj
}

func TestPeerVerifiesOursByKey(t *testing.T) {
	key := newKey(t)
	s := must.Get(sign.WithKey(sign.Config{RekorURL: world.RekorURL, Root: world.root}, key.privatePEM, []byte(keyPassword)))(t)
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			out := must.Get(s.Seal(t.Context(), []*exception.Document{parse(t, text)}, time.Now()))(t)
			for path, want := range map[string]bool{key.public: true, newKey(t).public: false} {
				ok, result, err := peerVerifies(t, object(t, string(out[0].Source())), func(vo *k8smanifest.VerifyResourceOption) { vo.KeyPath = path })
				expect.That(t, ok == want, "the peer accepts it: %t, want %t: %v, %v", ok, want, result, err)
			}
		})
	}
}

// Both sides reject modified documents, and documents without a trusted signer.
func TestBothRefuseTampered(t *testing.T) {
	text := sealed(t, texts["kyverno.io, with comments"])
	other := sealed(t, texts["policies.kyverno.io"])
	spec := func(key string, value any) func(*unstructured.Unstructured) {
		return func(obj *unstructured.Unstructured) { obj.Object["spec"].(map[string]any)[key] = value }
	}
	annotate := func(key, value string) func(*unstructured.Unstructured) {
		return func(obj *unstructured.Unstructured) {
			annotations := obj.GetAnnotations()
			annotations[key] = value
			obj.SetAnnotations(annotations)
		}
	}
	evil := workflow()
	evil.Subject += "-evil"
	for name, tc := range map[string]struct {
		signer trust.AuthorityConfig
		tamper func(obj *unstructured.Unstructured)
	}{
		"another name":        {workflow(), func(obj *unstructured.Unstructured) { obj.SetName("evil") }},
		"another field":       {workflow(), spec("background", true)},
		"another policy":      {workflow(), spec("exceptions", []any{map[string]any{"policyName": "*", "ruleNames": []any{"*"}}})},
		"another label":       {workflow(), func(obj *unstructured.Unstructured) { obj.SetLabels(map[string]string{"team": "b"}) }},
		"another annotation":  {workflow(), annotate("polex.dev/expires-at", "2999-01-01T00:00:00Z")},
		"another's message":   {workflow(), annotate(messageKey, annotationOf(t, other, messageKey))},
		"another's signature": {workflow(), annotate(signatureKey, annotationOf(t, other, signatureKey))},
		"another's bundle":    {workflow(), annotate(bundleKey, annotationOf(t, other, bundleKey))},
		"no seal":             {workflow(), func(obj *unstructured.Unstructured) { obj.SetAnnotations(nil) }},
		"another signer":      {evil, func(*unstructured.Unstructured) {}},
	} {
		t.Run(name, func(t *testing.T) {
			obj := object(t, text)
			tc.tamper(&obj)
			ok, result, _ := peerVerifies(t, obj, func(vo *k8smanifest.VerifyResourceOption) {
				byWorkflow(vo)
				vo.Signers = k8smanifest.SignerList{tc.signer.Subject}
			})
			expect.That(t, !ok, "the peer accepts it: %v", result)
			doc := must.Get(exception.FromObject(obj.Object))(t)
			_, err := verifier(t, tc.signer).Verify(doc, time.Now())
			expect.That(t, err != nil, "polex accepts it")
		})
	}
}

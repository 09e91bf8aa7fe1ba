package interop_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sigstore/k8s-manifest-sigstore/pkg/k8smanifest"

	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/must"
)

// resolved returns a text with an expiry in place of a duration, which the peer's signer does not
// convert.
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
				opened, err := verifier(t, tc.authority).Verify(doc, time.Now())
				if err != nil {
					t.Fatalf("polex refuses: %v", err)
				}
				got := opened.Signatures()
				if len(got) != 1 || got[0].Authority != tc.authority.Name || got[0].WitnessedAt.IsZero() {
					t.Errorf("evidence %+v, want one witnessed signature of %s", got, tc.authority.Name)
				}
				if diff := cmp.Diff(tc.checked, got[0].Checked); diff != "" {
					t.Errorf("checked (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// unique makes a message that is not in the log yet: the peer finds its entry by a search for the
// message.
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
			var rejected *verify.Rejected
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tc.want != "" && (!errors.As(err, &rejected) || rejected.Reason != tc.want):
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

// A second signature of the peer counts like the first. A second signature with the log entry of
// the first is rejected.
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
			var rejected *verify.Rejected
			switch {
			case tc.want != "" && (!errors.As(err, &rejected) || rejected.Reason != tc.want):
				t.Errorf("got %v, want %s", err, tc.want)
			case tc.want == "" && err != nil:
				t.Errorf("polex refuses: %v", err)
			case tc.want == "" && len(opened.Signatures()) != 2:
				t.Errorf("%d signatures, want 2", len(opened.Signatures()))
			}
			if _, err := v.Verify(parse(t, once), time.Now()); !errors.As(err, &rejected) || rejected.Reason != verify.ReasonTooFewAuthorities {
				t.Errorf("one signature alone: %v, want %s", err, verify.ReasonTooFewAuthorities)
			}
		})
	}
}

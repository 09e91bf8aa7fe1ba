package verify

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sigstore/sigstore/pkg/cryptoutils"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/must"
)

// TestJSONBecomesYAML: other tools sign JSON, but polex-sign does not. The command prints it as
// YAML with the same values, and the result verifies with the same signature.
func TestJSONBecomesYAML(t *testing.T) {
	const message = "{\n\t\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\",\n\t\"metadata\": {\"name\": \"a\"},\n\t\"data\": {\"on\": \"1:30\", \"n\": \"\\ttab\"}\n}"
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	digest := sha256.Sum256([]byte(message))
	signature := must.Get(key.Sign(rand.Reader, digest[:], crypto.SHA256))(t)
	signed := must.Get(exception.Parse([]byte(message), "message"))(t)
	doc, err := seal.Attach(signed, &seal.Seal{Message: []byte(message), Signatures: []seal.Signature{{Signature: signature}}})
	if err != nil {
		t.Fatal(err)
	}
	public := must.Get(cryptoutils.MarshalPublicKeyToPEM(key.Public()))(t)
	policy, err := trust.Load(trust.Config{Kinds: []string{"ConfigMap"}, Authorities: []trust.AuthorityConfig{{Name: "ci", Key: string(public), InsecureWithoutLog: true}}})
	if err != nil {
		t.Fatal(err)
	}
	verifier := must.Get(verify.New(policy))(t)
	verified := must.Get(verifier.Verify(doc, time.Now()))(t)
	for _, form := range []string{"message", "signed"} {
		emitted := must.Get((&emission{form: form}).of(doc, verified))(t)
		text := emitted.Source()
		printed := must.Get(exception.Parse(text, form))(t)
		if printed.JSON() {
			t.Errorf("%s is JSON:\n%s", form, text)
		}
		if form == "message" {
			if diff := cmp.Diff(signed.Object(), printed.Object()); diff != "" {
				t.Errorf("(-signed +printed):\n%s", diff)
			}
			continue
		}
		if _, err := verifier.Verify(printed, time.Now()); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
}

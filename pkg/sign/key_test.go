package sign_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sigstore/cosign/v2/pkg/cosign"

	"github.com/polex-dev/polex/pkg/sign"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/expect"
)

const keyPassword = "correct horse"

func password(text string) cosign.PassFunc {
	return func(bool) ([]byte, error) { return []byte(text), nil }
}

// encrypted returns a private key in cosign's format.
func encrypted(t *testing.T, key crypto.PrivateKey) *cosign.KeysBytes {
	t.Helper()
	der := expect.Value(x509.MarshalPKCS8PrivateKey(key))(t)
	path := filepath.Join(t.TempDir(), "key.pem")
	expect.OK(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600))
	return expect.Value(cosign.ImportKeyPair(path, password(keyPassword)))(t)
}

func generated(t *testing.T) *cosign.KeysBytes {
	t.Helper()
	return expect.Value(cosign.GenerateKeyPair(password(keyPassword)))(t)
}

func TestWithKey(t *testing.T) {
	f := shared(t)
	rsaKey := expect.Value(rsa.GenerateKey(rand.Reader, 2048))(t)
	for name, keys := range map[string]*cosign.KeysBytes{"as cosign generates it": generated(t), "RSA": encrypted(t, rsaKey)} {
		t.Run(name, func(t *testing.T) {
			s := expect.Value(sign.WithKey(f.config(), keys.PrivateBytes, []byte(keyPassword)))(t)
			expect.Is(t, "the subject of a key", "", s.Identity().Subject)
			sealed := expect.Value(s.Seal(t.Context(), batch(t, 10), time.Now()))(t)
			for _, opened := range mustVerify(t, f.ofKey(t, keys.PublicBytes), sealed) {
				if got := opened.Signatures()[0]; got.Authority != "team" || got.WitnessedAt.IsZero() {
					t.Errorf("evidence %+v, want the key's, witnessed", got)
				}
			}
			// The key is not the workflow.
			v := expect.Value(verify.New(f.policy(t)))(t)
			var rejected *verify.Rejected
			if _, err := v.Verify(sealed[0], time.Now()); !errors.As(err, &rejected) || rejected.Reason != verify.ReasonUnknownKey {
				t.Errorf("verify as the workflow: %v, want %s", err, verify.ReasonUnknownKey)
			}
		})
	}
}

func TestWithKeyRefuses(t *testing.T) {
	f := shared(t)
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p384 := expect.Value(ecdsa.GenerateKey(elliptic.P384(), rand.Reader))(t)
	good := generated(t)
	for _, tc := range []struct {
		name           string
		key            []byte
		password, want string
	}{
		{"wrong password", good.PrivateBytes, "incorrect horse", "open private key: "},
		{"no password", good.PrivateBytes, "", "open private key: "},
		{"ed25519", encrypted(t, edwards).PrivateBytes, keyPassword, "neither ECDSA nor RSA"},
		{"another digest", encrypted(t, p384).PrivateBytes, keyPassword, "SHA-256"},
		{"a public key", good.PublicBytes, keyPassword, "open private key: "},
		{"not a key", []byte("hello"), keyPassword, "open private key: "},
		{"nothing", nil, keyPassword, "open private key: "},
		{"cut off", good.PrivateBytes[:len(good.PrivateBytes)/2], keyPassword, "open private key: "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := sign.WithKey(f.config(), tc.key, []byte(tc.password))
			expect.Failure(s, err)(t, tc.want)
			if tc.password != "" && strings.Contains(err.Error(), tc.password) {
				t.Errorf("the error repeats the password: %v", err)
			}
		})
	}
}

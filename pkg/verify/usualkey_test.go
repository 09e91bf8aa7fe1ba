package verify_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"math/big"
	"testing"

	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/expect"
)

// TestKeysOfCertificates: a certificate has a key of a type and a size that other verifiers accept too.
func TestKeysOfCertificates(t *testing.T) {
	for name, tc := range map[string]struct {
		key      func() (crypto.Signer, error)
		accepted bool
	}{
		"P-256":    {func() (crypto.Signer, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }, true},
		"P-521":    {func() (crypto.Signer, error) { return ecdsa.GenerateKey(elliptic.P521(), rand.Reader) }, true},
		"RSA 2048": {func() (crypto.Signer, error) { return rsa.GenerateKey(rand.Reader, 2048) }, true},
		"RSA 2560": {func() (crypto.Signer, error) { return rsa.GenerateKey(rand.Reader, 2560) }, false},
		"Ed25519": {func() (crypto.Signer, error) {
			_, key, err := ed25519.GenerateKey(rand.Reader)
			return key, err
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			key := expect.Value(tc.key())(t)
			template := &x509.Certificate{SerialNumber: big.NewInt(1)}
			der := expect.Value(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))(t)
			if _, err := verify.ReadCertificate(der); (err == nil) != tc.accepted {
				t.Errorf("%v", err)
			}
		})
	}
}

package sign_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/sigstore/sigstore/pkg/cryptoutils"

	"github.com/polex-dev/polex/pkg/sign"
	"github.com/polex-dev/polex/test/expect"
)

// TestWithKMS signs with a key in another process, by sigstore's protocol for KMS plug-ins.
func TestWithKMS(t *testing.T) {
	f := shared(t)
	dir := t.TempDir()
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", dir+string(filepath.Separator), "../../test/sigstore-kms-local")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Setenv("PATH", dir)
	stored := func(name string, curve elliptic.Curve) (string, crypto.PublicKey) {
		t.Helper()
		key := expect.Value(ecdsa.GenerateKey(curve, rand.Reader))(t)
		der := expect.Value(x509.MarshalPKCS8PrivateKey(key))(t)
		path := filepath.Join(dir, name)
		expect.OK(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600))
		return "local://" + path, key.Public()
	}
	reference, public := stored("key.pem", elliptic.P256())
	s := expect.Value(sign.WithKMS(t.Context(), f.config(), reference))(t)
	sealed := expect.Value(s.Seal(t.Context(), batch(t, 2), time.Now()))(t)
	mustVerify(t, f.ofKey(t, expect.Value(cryptoutils.MarshalPublicKeyToPEM(public))(t)), sealed)

	ending, end := context.WithTimeout(t.Context(), time.Second)
	defer end()
	if _, err := sign.WithKMS(ending, f.config(), "local://never"); err == nil { // without the end, the test does not end
		t.Errorf("a plug-in that does not answer: %v", err)
	}

	unsupported, _ := stored("p384.pem", elliptic.P384())
	for name, tc := range map[string]struct{ reference, want string }{
		"no plug-in":           {"nothing://key", "sigstore-kms-nothing is not on the PATH"},
		"a path as plug-in":    {"../local://key", "not a reference to a key"},
		"no key":               {"local://", "not a reference to a key"},
		"a key that is gone":   {"local://" + filepath.Join(dir, "gone.pem"), "no such file"},
		"a key of another sum": {unsupported, "SHA-256"},
	} {
		t.Run(name, func(t *testing.T) {
			expect.Failure(sign.WithKMS(t.Context(), f.config(), tc.reference))(t, tc.want)
		})
	}
}

//go:build e2e

package load

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"slices"
	"testing"
	"time"
)

// ecdsaAlone returns the median time for verifying some signatures by P-384 keys (certificate
// authorities) and by P-256 keys (the log, its checkpoint and the signer).
func ecdsaAlone(t *testing.T, p384, p256 int) time.Duration {
	t.Helper()
	digest := sha256.Sum256([]byte("a message"))
	sum := time.Duration(0)
	for curve, count := range map[elliptic.Curve]int{elliptic.P384(): p384, elliptic.P256(): p256} {
		key, err := ecdsa.GenerateKey(curve, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		signature, err := ecdsa.SignASN1(rand.Reader, key, digest[:])
		if err != nil {
			t.Fatal(err)
		}
		var took []time.Duration
		for range 101 {
			began := time.Now()
			if !ecdsa.VerifyASN1(&key.PublicKey, digest[:], signature) {
				t.Fatal("a good signature does not hold")
			}
			took = append(took, time.Since(began))
		}
		slices.Sort(took)
		sum += time.Duration(count) * took[len(took)/2]
	}
	return sum.Round(time.Microsecond)
}

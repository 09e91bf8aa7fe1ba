package guard

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"math/big"
	"testing"
	"time"

	"github.com/polex-dev/polex/test/must"
)

// TestFirstExpiry: the metric covers a CA behind the certificate, which people renew.
func TestFirstExpiry(t *testing.T) {
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	early, late := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
	certificate := func(ends time.Time) []byte {
		template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: ends}
		der := must.Get(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))(t)
		return der
	}
	for _, chain := range [][][]byte{{certificate(early), certificate(late)}, {certificate(late), certificate(early)}, {certificate(early)}} {
		if got := firstExpiry(chain); !got.Equal(early) {
			t.Errorf("%s, want %s", got, early)
		}
	}
	if got := firstExpiry(nil); !got.IsZero() {
		t.Errorf("no chain: %s", got)
	}
}

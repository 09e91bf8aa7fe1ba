package verify

import (
	"crypto/sha256"
	"crypto/x509"
	"sync"
	"time"

	sgroot "github.com/sigstore/sigstore-go/pkg/root"
	sgverify "github.com/sigstore/sigstore-go/pkg/verify"

	"github.com/polex-dev/polex/pkg/trust"
)

// A batch is signed with one certificate, and what costs most is to verify that.
// So one that was verified under the root of this verifier, at a witnessed time,
// with its SCT where the root promises one, is not verified again for the same
// time. Signatures and log entries are remembered where [Verifier.Remember] says so,
// and refusals never.

// maxRemembered bounds the memory that hostile documents can fill: then all is
// forgotten and begun anew.
const maxRemembered = 4096

type witnessed struct {
	certificate [sha256.Size]byte
	at          int64 // Unix nanoseconds
}

type memory[K comparable, V any] struct {
	mu   sync.Mutex
	held map[K]V
}

func (m *memory[K, V]) get(key K) (value V, known bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	value, known = m.held[key]
	return value, known
}

func (m *memory[K, V]) keep(key K, value V, most int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.held == nil || len(m.held) >= most {
		m.held = map[K]V{}
	}
	m.held[key] = value
}

// rememberingMaterial is a trusted root whose certificate authorities ask for the
// SCT too, and remember whom they verified.
type rememberingMaterial struct {
	sgroot.TrustedMaterial
	authorities []sgroot.CertificateAuthority
}

func newRememberingMaterial(root *trust.Root) *rememberingMaterial {
	m := &rememberingMaterial{TrustedMaterial: root.Material()}
	for _, ca := range root.Material().FulcioCertificateAuthorities() {
		m.authorities = append(m.authorities, &rememberingAuthority{CertificateAuthority: ca, root: root})
	}
	return m
}

// FulcioCertificateAuthorities returns the authorities that remember.
func (m *rememberingMaterial) FulcioCertificateAuthorities() []sgroot.CertificateAuthority {
	return m.authorities
}

type rememberingAuthority struct {
	sgroot.CertificateAuthority
	root   *trust.Root
	memory memory[witnessed, bool]
}

// Verify returns the chains of a certificate at a time, or the certificate alone
// when they were verified before.
func (a *rememberingAuthority) Verify(cert *x509.Certificate, at time.Time) ([][]*x509.Certificate, error) {
	w := witnessed{sha256.Sum256(cert.Raw), at.UnixNano()}
	if _, known := a.memory.get(w); known {
		return [][]*x509.Certificate{{cert}}, nil
	}
	chains, err := a.CertificateAuthority.Verify(cert, at)
	if err != nil {
		return nil, err
	}
	if a.root.LogsCertificates() {
		if err := sgverify.VerifySignedCertificateTimestamp(chains, 1, a.root.Material()); err != nil {
			return nil, err
		}
	}
	a.memory.keep(w, true, maxRemembered)
	return chains, nil
}

package verify

import (
	"crypto/sha256"
	"crypto/x509"
	"slices"
	"sync"
	"time"

	sgroot "github.com/sigstore/sigstore-go/pkg/root"
	sgverify "github.com/sigstore/sigstore-go/pkg/verify"

	"github.com/polex-dev/polex/pkg/trust"
)

// Verifying a certificate costs most, and the documents of a batch share one. So a certificate that
// was verified under this root, with its SCT, is not verified again for a time at which all
// certificates of its chains are valid: the rest does not depend on the time.
// [Verifier.Remember] adds signatures and log entries. Rejections are never remembered.

// maxRemembered limits the memory that hostile documents can fill. A full memory is cleared.
const maxRemembered = 4096

// span is the time in which verified chains are valid, both ends included.
type span struct{ from, to time.Time }

func (s span) has(at time.Time) bool { return !at.Before(s.from) && !at.After(s.to) }

// shared returns the time in which an authority and all certificates of its chains are valid.
func shared(ca *sgroot.FulcioCertificateAuthority, chains [][]*x509.Certificate) span {
	s := span{ca.ValidityPeriodStart, ca.ValidityPeriodEnd}
	for _, cert := range slices.Concat(chains...) {
		if cert.NotBefore.After(s.from) {
			s.from = cert.NotBefore
		}
		if s.to.IsZero() || cert.NotAfter.Before(s.to) {
			s.to = cert.NotAfter
		}
	}
	return s
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

// rememberingMaterial is a trusted root with certificate authorities that also check the SCT and
// remember the certificates that they verified.
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

// FulcioCertificateAuthorities returns the remembering certificate authorities.
func (m *rememberingMaterial) FulcioCertificateAuthorities() []sgroot.CertificateAuthority {
	return m.authorities
}

type rememberingAuthority struct {
	sgroot.CertificateAuthority
	root   *trust.Root
	memory memory[[sha256.Size]byte, span]
}

// Verify returns the chains of a certificate at a time. For a remembered certificate it returns the
// certificate alone.
func (a *rememberingAuthority) Verify(cert *x509.Certificate, at time.Time) ([][]*x509.Certificate, error) {
	digest := sha256.Sum256(cert.Raw)
	if valid, known := a.memory.get(digest); known && valid.has(at) {
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
	if ca, is := a.CertificateAuthority.(*sgroot.FulcioCertificateAuthority); is {
		a.memory.keep(digest, shared(ca, chains), maxRemembered)
	}
	return chains, nil
}

package trust

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	sgroot "github.com/sigstore/sigstore-go/pkg/root"
)

// The kinds of a [Holding].
const (
	HeldCertificateAuthority = "certificate-authority"
	HeldCertificateLog       = "certificate-log"
	HeldTransparencyLog      = "transparency-log"
	HeldTimestampAuthority   = "timestamp-authority"
)

// Holding is one of those whom a trusted root vouches for.
type Holding struct {
	Kind string
	URL  string // as the root has it; it may be ""
	// ID tells it from others of its kind: a log's id, or the SHA-256 of an
	// authority's certificates, in hexadecimal.
	ID          string
	From, Until time.Time // zero for always and for good
}

// Holdings returns whom the root vouches for, sorted by kind, beginning and address.
func (r *Root) Holdings() []Holding {
	var held []Holding
	for _, ca := range r.material.FulcioCertificateAuthorities() {
		if f, ok := ca.(*sgroot.FulcioCertificateAuthority); ok {
			held = append(held, Holding{HeldCertificateAuthority, f.URI, certificatesID(append(slices.Clone(f.Intermediates), f.Root)), f.ValidityPeriodStart, f.ValidityPeriodEnd})
		}
	}
	for _, tsa := range r.material.TimestampingAuthorities() {
		if s, ok := tsa.(*sgroot.SigstoreTimestampingAuthority); ok {
			held = append(held, Holding{HeldTimestampAuthority, s.URI, certificatesID(append([]*x509.Certificate{s.Leaf, s.Root}, s.Intermediates...)), s.ValidityPeriodStart, s.ValidityPeriodEnd})
		}
	}
	for kind, logs := range map[string]map[string]*sgroot.TransparencyLog{HeldTransparencyLog: r.material.RekorLogs(), HeldCertificateLog: r.material.CTLogs()} {
		for id, l := range logs {
			held = append(held, Holding{kind, l.BaseURL, id, l.ValidityPeriodStart, l.ValidityPeriodEnd})
		}
	}
	slices.SortFunc(held, func(a, b Holding) int {
		if c := strings.Compare(a.Kind, b.Kind); c != 0 {
			return c
		}
		if c := a.From.Compare(b.From); c != 0 {
			return c
		}
		return strings.Compare(a.URL+" "+a.ID, b.URL+" "+b.ID)
	})
	return held
}

func certificatesID(certificates []*x509.Certificate) string {
	digest := sha256.New()
	for _, c := range certificates {
		if c != nil {
			digest.Write(c.Raw)
		}
	}
	return hex.EncodeToString(digest.Sum(nil))
}

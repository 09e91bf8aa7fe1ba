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

// The kinds of a [Service].
const (
	ServiceCertificateAuthority = "certificate-authority"
	ServiceCertificateLog       = "certificate-log"
	ServiceTransparencyLog      = "transparency-log"
	ServiceTimestampAuthority   = "timestamp-authority"
)

// Service is a certificate authority, a log or a timestamp authority of a trusted root.
type Service struct {
	Kind string
	URL  string // as in the trusted root; can be ""
	// ID identifies the service among those of its kind: a log's id, or the SHA-256 of an
	// authority's certificates, in hexadecimal.
	ID          string
	From, Until time.Time // the validity; zero sets no limit
}

// Services returns the services of the root, sorted by kind, start of validity and URL.
func (r *Root) Services() []Service {
	var held []Service
	for _, ca := range r.material.FulcioCertificateAuthorities() {
		if f, ok := ca.(*sgroot.FulcioCertificateAuthority); ok {
			held = append(held, Service{ServiceCertificateAuthority, f.URI,
				certificatesID(append(slices.Clone(f.Intermediates), f.Root)), f.ValidityPeriodStart,
				f.ValidityPeriodEnd})
		}
	}
	for _, tsa := range r.material.TimestampingAuthorities() {
		if s, ok := tsa.(*sgroot.SigstoreTimestampingAuthority); ok {
			held = append(held, Service{ServiceTimestampAuthority, s.URI,
				certificatesID(append([]*x509.Certificate{s.Leaf, s.Root}, s.Intermediates...)), s.ValidityPeriodStart,
				s.ValidityPeriodEnd})
		}
	}
	for kind, logs := range map[string]map[string]*sgroot.TransparencyLog{
		ServiceTransparencyLog: r.material.RekorLogs(), ServiceCertificateLog: r.material.CTLogs()} {
		for id, l := range logs {
			held = append(held, Service{kind, l.BaseURL, id, l.ValidityPeriodStart, l.ValidityPeriodEnd})
		}
	}
	slices.SortFunc(held, func(a, b Service) int {
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

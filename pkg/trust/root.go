package trust

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	sgroot "github.com/sigstore/sigstore-go/pkg/root"

	"github.com/polex-dev/polex/pkg/trust/publicgood"
)

// Root is a trusted root: the accepted certificate authorities, logs and timestamp authorities.
type Root struct {
	source   string
	digest   [sha256.Size]byte // of its JSON
	material *sgroot.TrustedRoot
}

// LoadRoot reads a trusted_root.json of at most 4 MiB; an empty path means [PublicGoodRoot].
func LoadRoot(path string) (*Root, error) {
	if path == "" {
		return PublicGoodRoot()
	}
	raw, err := readBounded(path)
	if err != nil {
		return nil, fmt.Errorf("read trusted root: %w", err)
	}
	return ParseRoot(raw, path)
}

// PublicGoodRoot returns the embedded root of the public-good Sigstore, as of [publicgood.Date].
func PublicGoodRoot() (*Root, error) {
	return ParseRoot(publicgood.TrustedRootJSON(), "the public-good root of "+publicgood.Date)
}

// ParseRoot reads the JSON of a Sigstore trusted root (TrustedRoot of sigstore/protobuf-specs).
// source is its name in messages. A root with neither a certificate authority nor a log is an
// error.
func ParseRoot(raw []byte, source string) (*Root, error) {
	material, err := sgroot.NewTrustedRootFromJSON(raw)
	if err != nil {
		if !json.Valid(raw) {
			err = errors.New("it is not JSON")
		} else if !bytes.Contains(raw, []byte(`"mediaType"`)) {
			err = errors.New("it has no media type (mediaType)")
		}
		return nil, fmt.Errorf("trusted root %s: expected the JSON of a Sigstore trusted root, such as polex-sign "+
			"trusted-root writes: %w", source, err)
	}
	r := &Root{source: source, digest: sha256.Sum256(raw), material: material}
	if len(material.FulcioCertificateAuthorities()) == 0 && len(material.RekorLogs()) == 0 {
		return nil, fmt.Errorf("trusted root %s: %w", source,
			errors.New("it names no certificate authority and no log"))
	}
	return r, nil
}

// Source returns the origin of the root, for messages.
func (r *Root) Source() string { return r.source }

// Same reports whether another root was read from the same bytes.
func (r *Root) Same(other *Root) bool { return r.digest == other.digest }

// Digest returns "sha256:" and the digest of the bytes that the root was read from.
func (r *Root) Digest() string { return fmt.Sprintf("sha256:%x", r.digest) }

// Material returns the root in the form that sigstore-go verifies with.
func (r *Root) Material() sgroot.TrustedMaterial { return r.material }

// Issues reports whether the root has a certificate authority.
func (r *Root) Issues() bool { return len(r.material.FulcioCertificateAuthorities()) > 0 }

// Logs reports whether the root has a transparency log. Then every signature needs an entry.
func (r *Root) Logs() bool { return len(r.material.RekorLogs()) > 0 }

// LogsCertificates reports whether the root has a CT log. Then every certificate needs an SCT.
func (r *Root) LogsCertificates() bool { return len(r.material.CTLogs()) > 0 }

// Timestamps reports whether the root has a timestamp authority.
func (r *Root) Timestamps() bool { return len(r.material.TimestampingAuthorities()) > 0 }

// Log is one transparency log of a trusted root.
type Log struct {
	URL        string
	start, end time.Time
}

// Log returns the log with the id, or nil. The id is the SHA-256 of the log's key. For an Ed25519
// key of Rekor v2, it is the SHA-256 of the log's name and key.
func (r *Root) Log(id []byte) *Log {
	l := r.material.RekorLogs()[hex.EncodeToString(id)]
	if l == nil {
		return nil
	}
	return &Log{URL: l.BaseURL, start: l.ValidityPeriodStart, end: l.ValidityPeriodEnd}
}

// ValidAt reports whether the log's key was in use at a time.
func (l *Log) ValidAt(t time.Time) bool {
	return !t.Before(l.start) && (l.end.IsZero() || !t.After(l.end))
}

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

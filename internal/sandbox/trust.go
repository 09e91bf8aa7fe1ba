package sandbox

import (
	"crypto"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sigstore/sigstore-go/pkg/root"
)

const trustedRootFile = "trusted_root.json"

// trustedRoot says, in Sigstore's own format, that the sandbox is trusted from shortly before now for as long as its
// certificates last.
func (s *Sandbox) trustedRoot(now time.Time) ([]byte, error) {
	k := s.keys
	from, until := now.Add(-backdate), now.Add(chainLifetime)
	issuing := &root.FulcioCertificateAuthority{
		Root:                k.fulcioRoot.certificate,
		Intermediates:       []*x509.Certificate{k.fulcioIssuing.certificate},
		ValidityPeriodStart: from,
		ValidityPeriodEnd:   until,
		URI:                 s.FulcioURL,
	}
	stamping := &root.SigstoreTimestampingAuthority{
		Root:                k.timestamps.root.certificate,
		Intermediates:       []*x509.Certificate{k.timestamps.issuing.certificate},
		Leaf:                k.timestamps.leaf.certificate,
		ValidityPeriodStart: from,
		ValidityPeriodEnd:   until,
		URI:                 s.TimestampURL,
	}
	log := func(url string, key *logKey) map[string]*root.TransparencyLog {
		return map[string]*root.TransparencyLog{hex.EncodeToString(key.id[:]): {
			BaseURL:             url,
			ID:                  key.id[:],
			ValidityPeriodStart: from,
			ValidityPeriodEnd:   until,
			HashFunc:            crypto.SHA256,
			PublicKey:           key.private.Public(),
			SignatureHashFunc:   crypto.SHA256,
		}}
	}
	trusted, err := root.NewTrustedRoot(
		root.TrustedRootMediaType01,
		[]root.CertificateAuthority{issuing},
		log(s.CTLogURL, k.ct),
		[]root.TimestampingAuthority{stamping},
		log(s.RekorURL, k.rekor),
	)
	if err != nil {
		return nil, fmt.Errorf("make trusted root: %w", err)
	}
	encoded, err := json.MarshalIndent(trusted, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode trusted root: %w", err)
	}
	return append(encoded, '\n'), nil
}

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

// trustedRoot returns a trusted root in Sigstore's format. It trusts the sandbox from shortly
// before now until its certificates expire.
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
	log := func(logs map[string]*root.TransparencyLog, url string, key *logKey, start time.Time) {
		if url == "" {
			return
		}
		logs[hex.EncodeToString(key.id[:])] = &root.TransparencyLog{
			BaseURL:             url,
			ID:                  key.id[:],
			ValidityPeriodStart: start,
			ValidityPeriodEnd:   until,
			HashFunc:            crypto.SHA256,
			PublicKey:           key.private.Public(),
			SignatureHashFunc:   crypto.SHA256,
		}
	}
	certificateLogs, logs := map[string]*root.TransparencyLog{}, map[string]*root.TransparencyLog{}
	log(certificateLogs, s.CTLogURL, k.ct, from)
	log(logs, s.RekorURL, k.rekor, from)
	log(logs, s.RekorV2URL, k.rekorV2, from.Add(time.Second)) // version 1 comes first, because the list is sorted by start
	trusted, err := root.NewTrustedRoot(
		root.TrustedRootMediaType01,
		[]root.CertificateAuthority{issuing},
		certificateLogs,
		[]root.TimestampingAuthority{stamping},
		logs,
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

package sigstore

import (
	"context"
	"crypto"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"time"

	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
)

// writeTrustedRoot writes the trusted root in Sigstore's format.
func (s *Sigstore) writeTrustedRoot(context.Context, context.Context) error {
	from := s.fulcio.root.NotBefore
	until := from.Add(validity)
	stamping, err := s.timestampAuthority(from, until)
	if err != nil {
		return err
	}
	certificateLogs, logs := map[string]*root.TransparencyLog{}, map[string]*root.TransparencyLog{}
	for _, log := range []struct {
		in  map[string]*root.TransparencyLog
		url string
		key *logKey
	}{{certificateLogs, s.CTLogURL, s.ctLog}, {logs, s.RekorURL, s.rekor}, {logs, s.RekorV2URL, s.rekorV2}} {
		id, err := log.key.id()
		if err != nil {
			return err
		}
		log.in[hex.EncodeToString(id)] = &root.TransparencyLog{BaseURL: log.url, ID: id, ValidityPeriodStart: from, ValidityPeriodEnd: until,
			HashFunc: crypto.SHA256, PublicKey: log.key.private.Public(), SignatureHashFunc: crypto.SHA256}
	}
	trusted, err := root.NewTrustedRoot(root.TrustedRootMediaType01,
		[]root.CertificateAuthority{&root.FulcioCertificateAuthority{URI: s.FulcioURL, Root: s.fulcio.root,
			Intermediates: []*x509.Certificate{s.fulcio.intermediate}, ValidityPeriodStart: from, ValidityPeriodEnd: until}},
		certificateLogs, []root.TimestampingAuthority{stamping}, logs)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(trusted)
	if err != nil {
		return err
	}
	return os.WriteFile(s.TrustedRootPath, raw, 0o600)
}

// timestampAuthority reads the chain of the timestamp server, leaf first.
func (s *Sigstore) timestampAuthority(from, until time.Time) (*root.SigstoreTimestampingAuthority, error) {
	raw, err := os.ReadFile(s.at(timestampChainFile))
	if err != nil {
		return nil, err
	}
	chain, err := cryptoutils.UnmarshalCertificatesFromPEM(raw)
	if err != nil {
		return nil, err
	}
	if len(chain) < 2 {
		return nil, errors.New("the timestamp authority's chain has no root")
	}
	return &root.SigstoreTimestampingAuthority{URI: s.TimestampURL, Leaf: chain[0], Intermediates: chain[1 : len(chain)-1], Root: chain[len(chain)-1],
		ValidityPeriodStart: from, ValidityPeriodEnd: until}, nil
}

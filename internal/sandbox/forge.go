package sandbox

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/digitorus/timestamp"
	ct "github.com/google/certificate-transparency-go"
	"github.com/sigstore/fulcio/pkg/ca"
	"github.com/sigstore/fulcio/pkg/ca/baseca"
	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
	"github.com/sigstore/rekor/pkg/generated/models"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
)

// The functions in this file do the same as a malicious service. The trusted root includes their
// keys, so a verifier that accepts the result has trusted a service without its own check.

// Forgery is a certificate that Fulcio would not issue.
type Forgery struct {
	// Template is not changed, except that a missing serial number is added.
	Template  *x509.Certificate
	PublicKey crypto.PublicKey
	// WithoutSCT omits the proof that the certificate was logged.
	WithoutSCT bool
}

// ForgeCertificate signs the certificate with Fulcio's key and logs it, unchecked. It returns DER.
func (s *Sandbox) ForgeCertificate(ctx context.Context, f Forgery) ([]byte, error) {
	template := *f.Template
	if template.SerialNumber == nil {
		var err error
		if template.SerialNumber, err = cryptoutils.GenerateSerialNumber(); err != nil {
			return nil, fmt.Errorf("generate serial number: %w", err)
		}
	}
	issuing := s.keys.fulcioIssuing
	if !f.WithoutSCT {
		poison := pkix.Extension{Id: baseca.OIDExtensionCTPoison, Critical: true, Value: asn1.NullBytes}
		template.ExtraExtensions = append(append([]pkix.Extension{}, template.ExtraExtensions...), poison)
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, issuing.certificate, f.PublicKey, issuing.key)
	if err != nil {
		return nil, fmt.Errorf("create certificate: %w", err)
	}
	if f.WithoutSCT {
		return der, nil
	}
	sct, err := s.logPrecertificate(der)
	if err != nil {
		return nil, err
	}
	precertificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("parse precertificate: %w", err)
	}
	chain := []*x509.Certificate{issuing.certificate, s.keys.fulcioRoot.certificate}
	final, err := new(baseca.BaseCA).IssueFinalCertificate(ctx,
		&ca.CodeSigningPreCertificate{PreCert: precertificate, CertChain: chain, PrivateKey: issuing.key}, sct)
	if err != nil {
		return nil, fmt.Errorf("issue certificate: %w", err)
	}
	return final.FinalCertificate.Raw, nil
}

func (s *Sandbox) logPrecertificate(der []byte) (*ct.SignedCertificateTimestamp, error) {
	raw := [][]byte{der, s.keys.fulcioIssuing.certificate.Raw, s.keys.fulcioRoot.certificate.Raw}
	chain, err := s.ctLog.checkChain(raw, ct.PrecertLogEntryType)
	if err != nil {
		return nil, err
	}
	response, err := s.ctLog.add(chain, ct.PrecertLogEntryType, time.Now())
	if err != nil {
		return nil, err
	}
	return response.ToSignedCertificateTimestamp()
}

// ForgeEntry logs any bytes at any time, with a valid promise and proof. It returns the entry as a
// client would read it: its body is base64.
func (s *Sandbox) ForgeEntry(ctx context.Context, body []byte, integrated time.Time) (*models.LogEntryAnon, error) {
	if s.rekor == nil {
		return nil, errors.New("version 1 of Rekor does not run")
	}
	id, logged, err := s.rekor.add(ctx, body, integrated)
	if err != nil {
		return nil, err
	}
	encoded, err := json.Marshal(logged[id])
	if err != nil {
		return nil, fmt.Errorf("encode entry: %w", err)
	}
	var read models.LogEntryAnon
	if err := json.Unmarshal(encoded, &read); err != nil {
		return nil, fmt.Errorf("decode entry: %w", err)
	}
	return &read, nil
}

// ForgeEntryV2 logs any bytes in the log of version 2 as hashedrekord 0.0.2, with a valid proof.
func (s *Sandbox) ForgeEntryV2(ctx context.Context, body []byte) (*protorekor.TransparencyLogEntry, error) {
	if s.rekorV2 == nil {
		return nil, errors.New("version 2 of Rekor does not run")
	}
	entry, err := s.rekorV2.add(ctx, body)
	if err != nil {
		return nil, err
	}
	entry.KindVersion = &protorekor.KindVersion{Kind: "hashedrekord", Version: "0.0.2"}
	return entry, nil
}

// ForgeTimestamp returns an RFC 3161 response for a message, such as a signature, at any time.
func (s *Sandbox) ForgeTimestamp(message []byte, at time.Time) ([]byte, error) {
	digest := sha256.Sum256(message)
	return s.keys.timestamps.stamp(&timestamp.Request{HashAlgorithm: crypto.SHA256, HashedMessage: bytes.Clone(digest[:])}, at)
}

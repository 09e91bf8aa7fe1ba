package verify

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"time"

	sgverify "github.com/sigstore/sigstore-go/pkg/verify"

	"github.com/polex-dev/polex/pkg/exception"
)

// Facts are what was verified of a document, to explain an answer with. Beside
// a refusal they are what had been verified by then: nothing counts for them,
// and what they leave out nobody has checked.
type Facts struct {
	// MessageDigest is "sha256:" and the hexadecimal digest of the signed
	// message, as the revoked list of a trust policy takes it. It is "" as long as no
	// signature over the message was verified.
	MessageDigest string
	// Signatures are those that were verified, in the seal's order. Each names
	// its authority once they all were.
	Signatures []Signature
	// Renewal is which exception the message says that it renews, and Approvals who its
	// record says approved it: the signers' word. They are zero where it says nothing, or
	// nothing that can be read.
	Renewal   exception.Renewal
	Approvals exception.Approvals
	// StartsAt and ExpiresAt are the times between which the message counts. They
	// are zero for always and never, and where the lifetime was not come to.
	StartsAt, ExpiresAt time.Time
}

// Certificate tells a verified certificate from others.
type Certificate struct {
	Fingerprint         string // "sha256:" and the hexadecimal digest of its DER
	NotBefore, NotAfter time.Time
}

// The kinds of witnesses.
const (
	WitnessLog       = "transparency-log"
	WitnessTimestamp = "timestamp-authority"
)

// Witness is someone of the trusted root who says when a signature was there.
type Witness struct {
	Kind string // [WitnessLog] or [WitnessTimestamp]
	URL  string // as the trusted root has it; it may be ""
	At   time.Time
}

func certificateOf(cert *x509.Certificate) Certificate {
	return Certificate{Fingerprint: digestOf(cert.Raw), NotBefore: cert.NotBefore, NotAfter: cert.NotAfter}
}

func witnessOf(t sgverify.TimestampVerificationResult) Witness {
	kind := WitnessLog
	if t.Type == "TimestampAuthority" {
		kind = WitnessTimestamp
	}
	return Witness{Kind: kind, URL: t.URI, At: t.Timestamp}
}

func digestOf(raw []byte) string {
	digest := sha256.Sum256(raw)
	return "sha256:" + hex.EncodeToString(digest[:])
}

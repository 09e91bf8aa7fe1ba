package verify

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"encoding/asn1"
	"slices"
	"strings"

	"github.com/digitorus/pkcs7"
	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/trust"
)

// Limits of all lists in the evidence of one signature. Anybody can write evidence, and most items of a list cost
// a library the verification of a signature. So each list is counted before a library walks it:
//
//	list                                         limit
//	signatures of a document                     [seal.MaxSignatures], maxStrangers of signers that are not trusted
//	JSON of a bundle                             maxBundle, maxBundleNodes; an unknown field is an error
//	log entries                                  1 (checkEntries)
//	JSON of a log entry's body                   maxEntry, maxEntryNodes
//	JSON of cosign's Rekor bundle                64 KiB, 100 values, a known set of keys (pkg/seal)
//	hashes of a proof                            maxHashes
//	lines of a checkpoint                        maxCheckpoint, maxCheckpointLines
//	signatures of a checkpoint                   1 for Rekor v1, maxCosignatures for v2
//	timestamps                                   maxTimestamps, maxAllTimestamps in all
//	values and levels of a timestamp             maxTimestamp, maxTimestampValues, maxTimestampLevels
//	signers of a timestamp                       1
//	certificates in a timestamp                  maxTimestampCertificates, none with a huge key
//	certificates of the signer                   1, without a chain (entityOf)
//	names, constraints and policies in it        maxCertificate
//	extensions of the certificate                maxExtensions
//	SCTs of the certificate                      maxSCTs
//	PEM blocks, DSSE envelopes                   1 block (pkg/seal), no envelope (sameSignature)
const (
	maxBundle          = 256 << 10 // bytes, in an annotation or in a file
	maxBundleNodes     = 2000      // a bundle with a proof of 64 hashes has a few hundred
	maxEntry           = 64 << 10  // bytes
	maxEntryNodes      = 200       // an entry has about 30
	maxHashes          = 64        // of a log of 2^64 entries
	maxCheckpoint      = 64 << 10  // bytes
	maxCheckpointLines = 32
	maxCosignatures    = 16 // by the log and its witnesses

	// Each timestamp requires the verification of a certificate chain, and anybody with a signature can get more
	// of them. The library that reads one takes quadratic time and memory in its depth.
	maxTimestamps            = 4
	maxAllTimestamps         = 8        // of all signatures of a document
	maxTimestamp             = 16 << 10 // bytes; a timestamp with its certificates has a few KiB
	maxTimestampValues       = 1000
	maxTimestampLevels       = 32
	maxTimestampCertificates = 4

	maxCertificate = 16 << 10 // bytes; a certificate of Fulcio has about 1 KiB
	maxExtensions  = 64
	maxSCTs        = 1 << 10 // bytes; one has about 120
)

// oidSCTs is the extension with the list of SCTs (RFC 6962, 3.3).
var oidSCTs = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 11129, 2, 4, 2}

// checkBundle counts the lists of a bundle.
func checkBundle(b *protobundle.Bundle) error {
	material := b.GetVerificationMaterial()
	for _, entry := range material.GetTlogEntries() {
		if err := checkInclusion(entry.GetInclusionProof()); err != nil {
			return err
		}
	}
	stamps := material.GetTimestampVerificationData().GetRfc3161Timestamps()
	if n := len(stamps); n > maxTimestamps {
		return reject(ReasonBadEvidence, "the signature has %d timestamps, and the maximum is %d", n, maxTimestamps)
	}
	for _, stamp := range stamps {
		if err := checkTimestamp(stamp.GetSignedTimestamp()); err != nil {
			return err
		}
	}
	return nil
}

// checkInclusion counts the lists of a proof. sigstore-go verifies each signature of a checkpoint of Rekor v1, which
// writes one. A checkpoint of v2 can have signatures of witnesses.
func checkInclusion(p *protorekor.InclusionProof) error {
	if n := len(p.GetHashes()); n > maxHashes {
		return reject(ReasonMalformedSignature,
			"the proof of the log entry has %d hashes, and the maximum is %d", n, maxHashes)
	}
	checkpoint := p.GetCheckpoint().GetEnvelope()
	if len(checkpoint) > maxCheckpoint || strings.Count(checkpoint, "\n") > maxCheckpointLines {
		return reject(ReasonMalformedSignature,
			"the checkpoint has more than %d lines or %d KiB", maxCheckpointLines, maxCheckpoint>>10)
	}
	most := maxCosignatures
	if origin, _, _ := strings.Cut(checkpoint, "\n"); ofRekorV1(origin) {
		most = 1
	}
	if n := strings.Count(checkpoint, "\n\u2014"); n > most {
		return reject(ReasonMalformedSignature, "the checkpoint has %d signatures, and the maximum is %d", n, most)
	}
	return nil
}

// ofRekorV1 reports whether a checkpoint has the origin of Rekor v1, a host and a tree. That of v2 is a host.
func ofRekorV1(origin string) bool { return strings.Contains(origin, " ") }

// checkTimestamp counts the lists of a timestamp (TimeStampResp, RFC 3161, 2.4.2). Its own certificates are not
// trusted, and the library verifies the timestamp with them before it looks at the trusted root.
func checkTimestamp(raw []byte) error {
	values := maxTimestampValues
	if len(raw) > maxTimestamp || !isDER(raw, maxTimestampLevels, &values) {
		return reject(ReasonBadEvidence,
			"a timestamp is not DER of at most %d KiB, %d values and %d levels",
			maxTimestamp>>10, maxTimestampValues, maxTimestampLevels)
	}
	var response struct{ Status, Token asn1.RawValue }
	if _, err := asn1.Unmarshal(raw, &response); err != nil {
		return rejectCause(ReasonBadEvidence, err, "a timestamp is not a response with a token of RFC 3161")
	}
	token, err := pkcs7.Parse(response.Token.FullBytes)
	if err != nil {
		return rejectCause(ReasonBadEvidence, err, "the token of a timestamp cannot be read: %s", err)
	}
	if len(token.Signers) != 1 || len(token.Certificates) > maxTimestampCertificates {
		return reject(ReasonBadEvidence,
			"a timestamp has %d signers and %d certificates, and expected are one signer and at most %d certificates",
			len(token.Signers), len(token.Certificates), maxTimestampCertificates)
	}
	for _, cert := range token.Certificates {
		if err := trust.CheckStrength(cert.PublicKey); err != nil {
			return rejectCause(ReasonBadEvidence, err, "the key of a certificate in a timestamp cannot be used: %s",
				err)
		}
	}
	return nil
}

// isDER reports whether the values are DER, with at most the given levels of nesting and the remaining values.
func isDER(values []byte, levels int, left *int) bool {
	for len(values) > 0 {
		var value asn1.RawValue
		rest, err := asn1.Unmarshal(values, &value)
		if *left--; err != nil || levels == 0 || *left < 0 {
			return false
		}
		if value.IsCompound && !isDER(value.Bytes, levels-1, left) {
			return false
		}
		values = rest
	}
	return true
}

// readCertificate parses the certificate of a signer and counts its lists.
func readCertificate(der []byte) (*x509.Certificate, error) {
	if len(der) > maxCertificate {
		return nil, reject(ReasonBadCertificate, "the certificate is larger than %d KiB", maxCertificate>>10)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, rejectCause(ReasonBadCertificate, err, "the certificate cannot be read: %s", err)
	}
	if n := len(cert.Extensions); n > maxExtensions {
		return nil, reject(ReasonBadCertificate, "the certificate has %d extensions, and the maximum is %d", n,
			maxExtensions)
	}
	for _, ext := range cert.Extensions {
		if ext.Id.Equal(oidSCTs) && len(ext.Value) > maxSCTs {
			return nil, reject(ReasonBadCertificate,
				"the certificate has %d bytes of SCTs, and the maximum is %d", len(ext.Value), maxSCTs)
		}
	}
	// An attacker can put a key of 350,000 bits into a certificate, and it takes a second.
	if err := trust.CheckStrength(cert.PublicKey); err != nil {
		return nil, rejectCause(ReasonBadCertificate, err, "the certificate's key cannot be used: %s", err)
	}
	if !isUsual(cert.PublicKey) {
		return nil, reject(ReasonBadCertificate,
			"the certificate's key is not ECDSA, or RSA of 2048, 3072 or 4096 bits")
	}
	return cert, nil
}

// isUsual accepts the keys of certificates that sigstore-go and cosign verify a message with. Ed25519 is not among
// them: it signs the message and not its digest, which the log has.
func isUsual(key crypto.PublicKey) bool {
	switch key := key.(type) {
	case *ecdsa.PublicKey:
		return true
	case *rsa.PublicKey:
		return slices.Contains([]int{2048, 3072, 4096}, key.N.BitLen())
	default:
		return false
	}
}

// checkEntry counts the values in the body of a log entry.
func checkEntry(body []byte) error {
	if len(body) > maxEntry || exception.TooManyNodes(body, maxEntryNodes) {
		return reject(ReasonUnsupportedLogEntry,
			"the log entry has more than %d values or %d KiB", maxEntryNodes, maxEntry>>10)
	}
	return nil
}

package verify

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"

	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
	sgroot "github.com/sigstore/sigstore-go/pkg/root"
	sgverify "github.com/sigstore/sigstore-go/pkg/verify"
	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
)

// The versions of hashedrekord: Rekor v1 writes 0.0.1 with an inclusion promise and a time, Rekor
// v2 writes 0.0.2 with neither.
const (
	rekordV1 = "0.0.1"
	rekordV2 = "0.0.2"
)

// checkForm rejects an entry with a time that nothing signs: anybody could have written it. Rekor v1 signs the time in
// the inclusion promise, and Rekor v2 has neither.
func checkForm(entry *protorekor.TransparencyLogEntry, version string) error {
	if version == rekordV2 && (entry.GetInclusionPromise() != nil || entry.GetIntegratedTime() != 0) {
		return reject(ReasonMalformedSignature, "the log entry is of Rekor 2, which has neither an inclusion promise nor a time, and it states one of these")
	}
	if entry.GetInclusionPromise() == nil && entry.GetIntegratedTime() != 0 {
		return reject(ReasonNoWitnessedTime, "the log entry states a time, and no inclusion promise proves it")
	}
	return nil
}

// checkProof checks the parts of a proof that sigstore-go accepts without a check. For an entry of
// Rekor v2, sigstore-go computes the logged bytes from the bundle. So the entry's own bytes, and
// the numbers in the proof, could be anything. It also takes the version from the checkpoint alone.
// The entry must be the logged one.
func checkProof(entry *protorekor.TransparencyLogEntry) error {
	p := entry.GetInclusionProof()
	if p == nil {
		return nil // the inclusion promise covers the entry
	}
	lines := strings.SplitN(p.GetCheckpoint().GetEnvelope(), "\n", 4)
	ofV2 := !ofRekorV1(lines[0])
	if ofV2 != (entry.GetKindVersion().GetVersion() == rekordV2) {
		return reject(ReasonUnprovenLogEntry, "the log entry and the checkpoint that proves it are of different versions of Rekor")
	}
	if !ofV2 {
		return nil // sigstore-go verifies the proof with the entry's own bytes
	}
	if len(lines) < 4 {
		return reject(ReasonUnprovenLogEntry, "the checkpoint is not complete")
	}
	size, sizeErr := strconv.ParseUint(lines[1], 10, 63)
	root, rootErr := base64.StdEncoding.DecodeString(lines[2])
	if sizeErr != nil || rootErr != nil || p.GetTreeSize() != int64(size) || !bytes.Equal(p.GetRootHash(), root) {
		return reject(ReasonUnprovenLogEntry, "the proof and its checkpoint are of different trees")
	}
	if p.GetLogIndex() != entry.GetLogIndex() || entry.GetLogIndex() < 0 {
		return reject(ReasonUnprovenLogEntry, "the index of the proof differs from the index of the log entry")
	}
	leaf := rfc6962.DefaultHasher.HashLeaf(entry.GetCanonicalizedBody())
	if err := proof.VerifyInclusion(rfc6962.DefaultHasher, uint64(entry.GetLogIndex()), size, leaf, p.GetHashes(), root); err != nil { //nolint:gosec // not negative
		return rejectCause(ReasonUnprovenLogEntry, err, "the log entry of the bundle is not the one of the proof")
	}
	return nil
}

// checkTimestamps rejects invalid timestamps, even if other evidence proves the time. sigstore-go ignores those, and of
// two timestamps by one authority it takes the first. All of them become part of the result, so that their order does
// not matter.
func (e *evidenceVerifier) checkTimestamps(b *entity, cert *x509.Certificate, result *sgverify.VerificationResult) error {
	stamps, err := b.Timestamps()
	if err != nil {
		return rejectCause(ReasonMalformedSignature, err, "the bundle's timestamps cannot be read: %s", err)
	}
	held := 0
	for _, t := range result.VerifiedTimestamps {
		if t.Type == typeTimestamp {
			held++
		}
	}
	if held == len(stamps) {
		return nil
	}
	signature := b.GetMessageSignature().GetSignature()
	for _, stamp := range stamps {
		t := e.stampedBy(stamp, signature)
		if t == nil {
			return reject(ReasonBadEvidence, "a timestamp does not belong to the signature, or is not by a timestamp authority of the trusted root (%s)", e.root.Source())
		}
		if cert != nil && (t.Time.Before(cert.NotBefore) || t.Time.After(cert.NotAfter)) {
			return reject(ReasonCertificateNotValid, "a timestamp is of %s, and the certificate was valid from %s to %s",
				clock(t.Time), clock(cert.NotBefore), clock(cert.NotAfter))
		}
		one := sgverify.TimestampVerificationResult{Type: typeTimestamp, URI: t.URI, Timestamp: t.Time}
		if !slices.Contains(result.VerifiedTimestamps, one) {
			result.VerifiedTimestamps = append(result.VerifiedTimestamps, one)
		}
	}
	return nil
}

// typeTimestamp is sigstore-go's name for the time of a timestamp authority.
const typeTimestamp = "TimestampAuthority"

// stampedBy returns the time of a timestamp by an authority of the trusted root, or nil.
func (e *evidenceVerifier) stampedBy(stamp, signature []byte) *sgroot.Timestamp {
	for _, authority := range e.material.TimestampingAuthorities() {
		if t, err := authority.Verify(stamp, signature); err == nil {
			return t
		}
	}
	return nil
}

package verify

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"

	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
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
		return reject(ReasonMalformedSignature,
			"the log entry is of Rekor 2, which has neither an inclusion promise nor a time, and it states one of "+
				"these")
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
		return reject(ReasonUnprovenLogEntry,
			"the log entry and the checkpoint that proves it are of different versions of Rekor")
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
	index := uint64(entry.GetLogIndex()) //nolint:gosec // not negative
	err := proof.VerifyInclusion(rfc6962.DefaultHasher, index, size, leaf, p.GetHashes(), root)
	if err != nil {
		return rejectCause(ReasonUnprovenLogEntry, err, "the log entry of the bundle is not the one of the proof")
	}
	return nil
}

// proveTimes returns the times that the log entry and the timestamps prove, at least one, and verifies the certificate
// at each of them. The order of the timestamps does not matter, and each of them must be valid.
func (e *evidenceVerifier) proveTimes(b *entity, cert *x509.Certificate) ([]Witness, error) {
	times, err := e.logged(b, cert)
	if err != nil {
		return nil, err
	}
	stamps, err := b.Timestamps()
	if err != nil {
		return nil, rejectCause(ReasonMalformedSignature, err, "the bundle's timestamps cannot be read: %s", err)
	}
	var invalid error
	for _, stamp := range stamps {
		switch t, err := e.stamped(stamp, b.GetMessageSignature().GetSignature()); {
		case err != nil:
			invalid = err
		case !slices.Contains(times, t):
			times = append(times, t)
		}
	}
	if len(times) == 0 {
		return nil, rejectCause(ReasonNoWitnessedTime, invalid,
			"no trusted log or timestamp authority proves when it was signed")
	}
	for _, t := range times {
		if err := e.checkCertificate(cert, t); err != nil {
			return nil, err
		}
	}
	for _, entry := range b.GetVerificationMaterial().GetTlogEntries() {
		if err := checkProof(entry); err != nil {
			return nil, err
		}
	}
	return times, invalid
}

// logged verifies the log entry if the root has a log, and returns the time that it proves, if any.
func (e *evidenceVerifier) logged(b *entity, cert *x509.Certificate) ([]Witness, error) {
	if !e.root.Logs() {
		return nil, nil
	}
	proven, err := sgverify.VerifyTlogEntry(b, e.material, 1, true)
	if err != nil {
		if outside := outsideValidity(b, cert); outside != nil {
			return nil, outside
		}
		return nil, rejectCause(ReasonUnprovenLogEntry,
			err, "no transparency log in the trusted root confirms the log entry")
	}
	var times []Witness
	for _, t := range proven {
		times = append(times, Witness{Kind: WitnessLog, URL: t.URI, At: t.Time})
	}
	return times, nil
}

// stamped returns the time of a timestamp by an authority of the trusted root.
func (e *evidenceVerifier) stamped(stamp, signature []byte) (Witness, error) {
	var cause error
	for _, authority := range e.material.TimestampingAuthorities() {
		t, err := authority.Verify(stamp, signature)
		if err == nil {
			return Witness{Kind: WitnessTimestamp, URL: t.URI, At: t.Time}, nil
		}
		cause = err
	}
	return Witness{}, rejectCause(ReasonBadEvidence, cause,
		"a timestamp does not belong to the signature, or is not by a timestamp authority of the trusted root (%s)",
		e.root.Source())
}

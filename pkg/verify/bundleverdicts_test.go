package verify_test

import (
	"testing"
	"time"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/expect"
)

// entry returns the only log entry of a bundle.
func entry(b *protobundle.Bundle) *protorekor.TransparencyLogEntry {
	return b.VerificationMaterial.TlogEntries[0]
}

// bundleVerdicts are about the two forms of the evidence, and about timestamps.
func bundleVerdicts(w *world) []verdict {
	withoutLog := func(root object) { delete(root, "tlogs") }
	withoutEntry := func(b *protobundle.Bundle) { b.VerificationMaterial.TlogEntries = nil }
	now := []time.Time{w.now}
	v03 := func(bend func(*protobundle.Bundle)) maker { return forged(set{onlyV03: true, v03: bend}) }
	both := func(bend func(*protobundle.Bundle)) maker { return forged(set{v03: bend}) }
	return []verdict{
		{name: "cosign's bundle alone: a promise and no proof", doc: onlyOld(func(*seal.RekorBundle) {})},
		{name: "the Sigstore bundle alone", doc: onlyV03(func(*protobundle.Bundle) {})},

		{name: "the bundles hold different promises", want: verify.ReasonEvidenceMismatch, doc: both(func(b *protobundle.Bundle) {
			entry(b).InclusionPromise.SignedEntryTimestamp[10] ^= 1
		})},
		{name: "the bundles hold different times", want: verify.ReasonEvidenceMismatch, doc: both(func(b *protobundle.Bundle) { entry(b).IntegratedTime++ })},
		{name: "the bundles hold different indexes", want: verify.ReasonEvidenceMismatch, doc: both(func(b *protobundle.Bundle) { entry(b).LogIndex++ })},
		{name: "the bundles name different logs", want: verify.ReasonEvidenceMismatch, doc: both(func(b *protobundle.Bundle) { entry(b).LogId.KeyId[0] ^= 1 })},
		{name: "the bundles hold different bodies", want: verify.ReasonEvidenceMismatch, doc: both(func(b *protobundle.Bundle) {
			entry(b).CanonicalizedBody = append(entry(b).CanonicalizedBody, ' ')
		})},
		{name: "the old bundle holds another entry", want: verify.ReasonEvidenceMismatch, doc: forged(set{old: func(b *seal.RekorBundle) { b.Payload.LogIndex++ }})},
		{name: "the bundle holds another signature", want: verify.ReasonEvidenceMismatch, doc: v03(func(b *protobundle.Bundle) { b.GetMessageSignature().Signature[8] ^= 1 })},
		{name: "the bundle is about another digest", want: verify.ReasonEvidenceMismatch, doc: v03(func(b *protobundle.Bundle) { b.GetMessageSignature().MessageDigest.Digest[0] ^= 1 })},
		{name: "the bundle is about a digest of another kind", want: verify.ReasonEvidenceMismatch, doc: v03(func(b *protobundle.Bundle) {
			b.GetMessageSignature().MessageDigest.Algorithm = protocommon.HashAlgorithm_SHA2_512
		})},
		{name: "the bundle holds another certificate", want: verify.ReasonEvidenceMismatch, doc: v03(func(b *protobundle.Bundle) { b.VerificationMaterial.GetCertificate().RawBytes[40] ^= 1 })},
		{name: "the bundle holds a key instead of the certificate", want: verify.ReasonEvidenceMismatch, doc: v03(func(b *protobundle.Bundle) {
			b.VerificationMaterial.Content = &protobundle.VerificationMaterial_PublicKey{PublicKey: &protocommon.PublicKeyIdentifier{}}
		})},

		{name: "the proof is broken and the promise right", want: verify.ReasonUnprovenLogEntry, doc: both(func(b *protobundle.Bundle) { entry(b).InclusionProof.RootHash[0] ^= 1 })},
		{name: "the proof is of another place", want: verify.ReasonUnprovenLogEntry, doc: both(func(b *protobundle.Bundle) { entry(b).InclusionProof.TreeSize++ })},
		{name: "the checkpoint is signed by nobody", want: verify.ReasonUnprovenLogEntry, doc: both(func(b *protobundle.Bundle) {
			c := entry(b).InclusionProof.Checkpoint
			c.Envelope = c.Envelope[:len(c.Envelope)-8] + "AAAAAA=\n"
		})},
		{name: "the promise is broken and the proof right", want: verify.ReasonUnprovenLogEntry, doc: v03(func(b *protobundle.Bundle) {
			entry(b).InclusionPromise.SignedEntryTimestamp[10] ^= 1
		})},
		{name: "no proof", want: verify.ReasonMalformedSignature, doc: both(func(b *protobundle.Bundle) { entry(b).InclusionProof = nil })},
		{name: "two log entries", want: verify.ReasonMalformedSignature, doc: both(func(b *protobundle.Bundle) {
			b.VerificationMaterial.TlogEntries = append(b.VerificationMaterial.TlogEntries, entry(b))
		})},
		{name: "no log entry", want: verify.ReasonNoLogEntry, doc: v03(withoutEntry)},
		{name: "no log entry but a timestamp", want: verify.ReasonNoLogEntry, doc: forged(set{onlyV03: true, stamps: now, v03: withoutEntry})},
		{name: "the entry goes by another kind", differs: sameKind, want: verify.ReasonLogEntryMismatch, doc: v03(func(b *protobundle.Bundle) { entry(b).KindVersion.Kind = "rekord" })},
		{name: "the entry goes by another version", differs: sameKind, want: verify.ReasonLogEntryMismatch, doc: v03(func(b *protobundle.Bundle) { entry(b).KindVersion.Version = "0.0.2" })},
		{name: "bundle of another version", want: verify.ReasonMalformedSignature, doc: v03(func(b *protobundle.Bundle) {
			b.MediaType = "application/vnd.dev.sigstore.bundle+json;version=0.1"
		})},
		{name: "bundle of an envelope", want: verify.ReasonMalformedSignature, doc: v03(func(b *protobundle.Bundle) { b.Content = &protobundle.Bundle_DsseEnvelope{} })},
		{name: "bundle with a chain", want: verify.ReasonEvidenceMismatch, doc: v03(func(b *protobundle.Bundle) {
			leaf := b.VerificationMaterial.GetCertificate()
			b.VerificationMaterial.Content = &protobundle.VerificationMaterial_X509CertificateChain{
				X509CertificateChain: &protocommon.X509CertificateChain{Certificates: []*protocommon.X509Certificate{leaf}}}
		})},

		// The tree does not cover the time, so only the inclusion promise proves it.
		{name: "a time that no promise covers", want: verify.ReasonNoWitnessedTime, doc: v03(func(b *protobundle.Bundle) { entry(b).InclusionPromise = nil })},
		{name: "a stolen key, a late entry and a time of its own", want: verify.ReasonNoWitnessedTime, doc: forged(set{onlyV03: true,
			fulcio: func(f *sandbox.Forgery) {
				f.Template.NotBefore, f.Template.NotAfter = w.now.Add(-366*day), w.now.Add(-365*day)
			},
			v03: func(b *protobundle.Bundle) {
				entry(b).InclusionPromise, entry(b).IntegratedTime = nil, w.now.Add(-365*day-time.Hour).Unix()
			}})},

		{name: "a timestamp beside the entry", doc: forged(set{stamps: now})},
		{name: "a timestamp instead of the promise", doc: forged(set{onlyV03: true, stamps: now, v03: func(b *protobundle.Bundle) {
			entry(b).InclusionPromise, entry(b).IntegratedTime = nil, 0
		}})},
		{name: "a timestamp and no log", doc: forged(set{onlyV03: true, stamps: now, v03: withoutEntry}), root: withoutLog},
		{name: "neither timestamp nor log", want: verify.ReasonNoWitnessedTime, doc: forged(set{onlyV03: true, v03: withoutEntry}), root: withoutLog},
		{name: "a timestamp and an entry of an unknown log", differs: everyEntry, want: verify.ReasonUnprovenLogEntry, doc: forged(set{onlyV03: true, stamps: now}), root: withoutLog},
		{name: "a timestamp of another signature", want: verify.ReasonNoWitnessedTime, root: withoutLog, doc: forged(set{onlyV03: true, v03: func(b *protobundle.Bundle) {
			withoutEntry(b)
			b.VerificationMaterial.TimestampVerificationData = strayStamp(w)
		}})},
		{name: "a timestamp outside of the certificate's time", want: verify.ReasonCertificateNotValid,
			doc: forged(set{onlyV03: true, stamps: []time.Time{w.now.Add(time.Hour)}, v03: withoutEntry}), root: withoutLog},
		{name: "the log within the certificate's time and the timestamp outside", want: verify.ReasonCertificateNotValid,
			doc: forged(set{stamps: []time.Time{w.now.Add(time.Hour)}})},
		{name: "no timestamp authority and no log that counts", want: verify.ReasonNoLogEntry,
			doc: forged(set{onlyV03: true, stamps: now, v03: withoutEntry}), root: func(root object) { delete(root, "timestampAuthorities") }},
		{name: "too many timestamps", want: verify.ReasonBadEvidence, doc: forged(set{stamps: make33(w.now)})},
		{name: "witnessed twice, the earlier time counts", want: verify.ReasonLifetimeTooLong,
			doc: forged(set{at: w.now.Add(2 * time.Minute), stamps: now}), policy: func(c *trust.Config) { c.MaxLifetime = "6d23h59m" }},
	}
}

func make33(at time.Time) []time.Time {
	times := make([]time.Time, 33)
	for i := range times {
		times[i] = at
	}
	return times
}

// strayStamp is a timestamp of other data.
func strayStamp(w *world) *protobundle.TimestampVerificationData {
	response, err := w.ForgeTimestamp([]byte("another signature"), w.now)
	if err != nil {
		panic(err)
	}
	return &protobundle.TimestampVerificationData{Rfc3161Timestamps: []*protocommon.RFC3161SignedTimestamp{{SignedTimestamp: response}}}
}

// TestCheckedEvidence compares the verified evidence in a result with the real evidence.
func TestCheckedEvidence(t *testing.T) {
	w := inWorld(t)
	key := newKey(t)
	keyed := func(c *trust.Config) {
		c.Authorities = []trust.AuthorityConfig{{Name: "ci", Key: string(signerPEM(t, key, nil)), InsecureWithoutLog: true}}
		c.MaxLifetime = ""
	}
	for _, tc := range []struct {
		name   string
		doc    maker
		policy func(*trust.Config)
		root   func(object)
		want   []string
	}{
		{"both bundles", honest, nil, nil, []string{"certificate-chain", "sct", "signed-entry-timestamp", "inclusion-proof"}},
		{"cosign's bundle", onlyOld(func(*seal.RekorBundle) {}), nil, nil, []string{"certificate-chain", "sct", "signed-entry-timestamp"}},
		{"no certificate log", honest, nil, func(root object) { delete(root, "ctlogs") }, []string{"certificate-chain", "signed-entry-timestamp", "inclusion-proof"}},
		{"timestamp", forged(set{stamps: []time.Time{w.now}}), nil, nil, []string{"certificate-chain", "sct", "timestamp", "signed-entry-timestamp", "inclusion-proof"}},
		{"key", forged(set{key: key, keyed: true}), keyed, nil, []string{"public-key", "signed-entry-timestamp", "inclusion-proof"}},
		{"Rekor v2", forged(set{v2: true, stamps: []time.Time{w.now}}), nil, nil, []string{"certificate-chain", "sct", "timestamp", "inclusion-proof"}},
		{"two timestamps", forged(set{v2: true, stamps: []time.Time{w.now, w.now}}), nil, nil, []string{"certificate-chain", "sct", "timestamp", "inclusion-proof"}},
		{"Rekor v2, no certificate log", forged(set{v2: true, stamps: []time.Time{w.now}}), nil, without("ctlogs"), []string{"certificate-chain", "timestamp", "inclusion-proof"}},
		{"timestamp and no log", forged(set{onlyV03: true, stamps: []time.Time{w.now}, v03: func(b *protobundle.Bundle) { b.VerificationMaterial.TlogEntries = nil }}),
			nil, without("tlogs"), []string{"certificate-chain", "sct", "timestamp"}},
		{"key without log", withoutEvidence(set{key: key, keyed: true}), keyed, nil, []string{"public-key"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			verified := expect.Value(w.verifier(t, tc.policy, tc.root).Verify(tc.doc(t, w), w.now))(t)
			sameStrings(t, verified.Signatures()[0].Checked, tc.want)
		})
	}
}

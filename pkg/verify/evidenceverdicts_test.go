package verify_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/big"
	"slices"
	"testing"
	"time"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/must"
)

// The numbers are those of the threat model.
func evidenceVerdicts(w *world) []verdict {
	garbage, bareKey := []byte("x"), newKey()
	return []verdict{
		{name: "honest", doc: honest},
		{name: "honest, forger's control", doc: forged(set{})},
		{name: "honest, twelve days late but unexpired", doc: statedless(30*day, set{}), after: 12 * day},

		{name: "self-signed certificate", want: verify.ReasonUntrustedCertificate, doc: forged(set{selfSigned: asFulcio})},
		{name: "self-signed, the subject as common name", want: verify.ReasonBadCertificate, doc: forged(set{selfSigned: commonName})},
		{name: "certificate of another authority", want: verify.ReasonUntrustedCertificate, doc: otherAuthority},
		{name: "certificate for another purpose", want: verify.ReasonUntrustedCertificate, doc: forged(set{fulcio: func(f *sandbox.Forgery) {
			f.Template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		}})},
		{name: "certificate expired a year before", want: verify.ReasonCertificateNotValid,
			doc: forged(set{fulcio: valid(w, -366*day, -365*day)})},
		{name: "logged a second after the certificate's end", want: verify.ReasonCertificateNotValid, doc: forged(set{at: w.now.Add(8*time.Minute + time.Second)})},
		{name: "logged before the certificate's beginning", want: verify.ReasonCertificateNotValid, doc: forged(set{at: w.now.Add(-3 * time.Minute)})},
		{name: "no SCT", want: verify.ReasonNoSCT, doc: forged(set{fulcio: noSCT})},
		{name: "SCT by a log that is not trusted", want: verify.ReasonNoSCT, doc: honest, root: otherKey("ctlogs")},
		{name: "no SCT and none promised", doc: forged(set{fulcio: noSCT}),
			root: without("ctlogs")},

		{name: "promise by an unknown log", want: verify.ReasonUnprovenLogEntry, doc: promisedByOther(true)},
		{name: "promise by an unknown key under the log's name", want: verify.ReasonUnprovenLogEntry, doc: promisedByOther(false)},
		{name: "the root's log has another key", want: verify.ReasonUnprovenLogEntry, doc: honest, root: otherKey("tlogs")},
		{name: "index edited", want: verify.ReasonUnprovenLogEntry, doc: onlyOld(func(b *seal.RekorBundle) { b.Payload.LogIndex++ })},
		{name: "time edited", want: verify.ReasonUnprovenLogEntry, doc: onlyOld(func(b *seal.RekorBundle) { b.Payload.IntegratedTime++ })},
		{name: "promise cut off", want: verify.ReasonUnprovenLogEntry, doc: onlyOld(func(b *seal.RekorBundle) {
			b.SignedEntryTimestamp = b.SignedEntryTimestamp[:len(b.SignedEntryTimestamp)-1]
		})},
		{name: "the log's key was retired before", want: verify.ReasonUnprovenLogEntry, doc: honest, root: window("tlogs", 0, "end", w.now.Add(-time.Minute))},
		{name: "the log's key was not in use yet", want: verify.ReasonUnprovenLogEntry, doc: honest, root: window("tlogs", 0, "start", w.now.Add(time.Minute))},
		{name: "the log's key was retired since", doc: honest, root: window("tlogs", 0, "end", w.now.Add(time.Minute))},

		{name: "another document's message", want: verify.ReasonLogEntryMismatch, doc: resealed(func(t *testing.T, s *seal.Seal) {
			s.Message = []byte(swapped(string(s.Message), "vendor-*", "vendor*"))
			s.Signatures[0].BundleV03 = nil
		})},
		{name: "another document's message, both bundles", want: verify.ReasonEvidenceMismatch, doc: resealed(func(t *testing.T, s *seal.Seal) {
			s.Message = []byte(swapped(string(s.Message), "vendor-*", "vendor*"))
		})},
		{name: "the entry is about another message", want: verify.ReasonLogEntryMismatch, doc: forged(set{
			body: put(hex.EncodeToString(make([]byte, sha256.Size)), "spec", "data", "hash", "value")})},
		{name: "the entry is about another certificate", want: verify.ReasonLogEntryMismatch, doc: entryOfAnotherCertificate},
		{name: "the entry is about the bare key", want: verify.ReasonLogEntryMismatch, doc: entryOfKey(set{key: bareKey}, bareKey)},
		{name: "the entry is about another signature", want: verify.ReasonLogEntryMismatch, doc: forged(set{
			body: put(base64.StdEncoding.EncodeToString(garbage), "spec", "signature", "content")})},
		{name: "garbage signature", want: verify.ReasonLogEntryMismatch, doc: resealed(func(_ *testing.T, s *seal.Seal) {
			s.Signatures[0].Signature, s.Signatures[0].BundleV03 = garbage, nil
		})},
		{name: "garbage signature, both bundles", want: verify.ReasonEvidenceMismatch, doc: resealed(func(_ *testing.T, s *seal.Seal) {
			s.Signatures[0].Signature = garbage
		})},
		{name: "garbage signature that the log vouches for", want: verify.ReasonBadSignature, doc: forged(set{signature: garbage})},
		{name: "signature by another key that the log vouches for", want: verify.ReasonBadSignature, doc: signedByAnotherKey},

		{name: "no signature", want: verify.ReasonUnsigned, doc: unsigned},
		{name: "no bundle", want: verify.ReasonNoLogEntry, doc: resealed(func(_ *testing.T, s *seal.Seal) {
			s.Signatures[0].Bundle, s.Signatures[0].BundleV03 = nil, nil
		})},
		{name: "no certificate", want: verify.ReasonUnknownKey, doc: resealed(func(_ *testing.T, s *seal.Seal) { s.Signatures[0].Certificate = nil })},
		{name: "a good set behind a broken one", differs: everySet, want: verify.ReasonBadSignature, doc: forged(set{signature: garbage}, set{})},
		{name: "a broken set behind a good one", differs: everySet, want: verify.ReasonBadSignature, doc: forged(set{}, set{signature: garbage})},
		{name: "a self-signed set behind a good one", differs: everySet, want: verify.ReasonUntrustedCertificate, doc: forged(set{}, set{selfSigned: asFulcio})},
		{name: "a stranger's good set behind a good one", doc: forged(set{}, set{fulcio: byStrangers})},

		{name: "entry of the kind rekord", want: verify.ReasonUnsupportedLogEntry, doc: forged(set{body: put("rekord", "kind")})},
		{name: "entry of an unknown version", want: verify.ReasonUnsupportedLogEntry, doc: forged(set{body: put("0.0.3", "apiVersion")})},
		{name: "entry over another digest", want: verify.ReasonUnsupportedLogEntry, doc: forged(set{body: put("sha512", "spec", "data", "hash", "algorithm")})},
		{name: "entry without a key", want: verify.ReasonUnsupportedLogEntry, doc: forged(set{body: put("", "spec", "signature", "publicKey", "content")})},
		{name: "entry with an empty spec", want: verify.ReasonUnsupportedLogEntry, doc: forged(set{rawBody: []byte(`{"apiVersion":"0.0.1","kind":"hashedrekord","spec":{}}`)})},
		{name: "entry of version 2 with an empty spec", want: verify.ReasonUnsupportedLogEntry, doc: forged(set{rawBody: []byte(`{"apiVersion":"0.0.2","kind":"hashedrekord","spec":{"hashedRekordV002":{"data":{"algorithm":"SHA2_256"}}}}`)})},
		{name: "entry that is no JSON", want: verify.ReasonUnsupportedLogEntry, doc: forged(set{rawBody: []byte("kind: hashedrekord\n")})},
		{name: "entry with a key twice", want: verify.ReasonUnsupportedLogEntry, doc: forged(set{rawBody: []byte(`{"apiVersion":"0.0.1","kind":"rekord","kind":"hashedrekord","spec":{}}`)})},
	}
}

// otherAuthority has a valid form, but its certificate authority is another one.
func otherAuthority(t *testing.T, w *world) *exception.Document {
	issue := func(key *ecdsa.PrivateKey) []byte {
		caKey := newKey()
		ca := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "fulcio intermediate", Organization: []string{"polex sandbox"}},
			NotBefore: w.now.Add(-time.Hour), NotAfter: w.now.Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
		template := w.forgery(t, key, nil).Template
		template.SerialNumber = big.NewInt(2)
		return must.Get(x509.CreateCertificate(rand.Reader, template, ca, key.Public(), caKey))(t)
	}
	return w.sealed(t, w.until(week), set{certificate: issue})
}

// signedByAnotherKey: a malicious log accepts a signature by another key than the certificate's.
func signedByAnotherKey(t *testing.T, w *world) *exception.Document {
	doc := parse(t, w.until(week))
	message := must.Get(seal.Message(doc))(t)
	digest := sha256.Sum256(message)
	signature := must.Get(ecdsa.SignASN1(rand.Reader, newKey(), digest[:]))(t)
	return w.sealed(t, w.until(week), set{signature: signature})
}

func entryOfAnotherCertificate(t *testing.T, w *world) *exception.Document {
	other := newKey()
	der := must.Get(w.ForgeCertificate(t.Context(), w.forgery(t, other, nil)))(t)
	return w.sealed(t, w.until(week), set{body: put(pemContent(signerPEM(t, other, der)), "spec", "signature", "publicKey")})
}

// entryOfKey logs a signature by one key as one by another, bare key.
func entryOfKey(signer set, logged *ecdsa.PrivateKey) maker {
	return func(t *testing.T, w *world) *exception.Document {
		signer.body = put(pemContent(signerPEM(t, logged, nil)), "spec", "signature", "publicKey")
		return w.sealed(t, w.until(week), signer)
	}
}

// promisedByOther signs the inclusion promise with another key, with that key's id or with the log's id.
func promisedByOther(ownName bool) maker {
	return resealed(func(t *testing.T, s *seal.Seal) {
		key := newKey()
		b := s.Signatures[0].Bundle
		s.Signatures[0].BundleV03 = nil
		if ownName {
			der := must.Get(x509.MarshalPKIXPublicKey(key.Public()))(t)
			b.Payload.LogID = fmt.Sprintf("%x", sha256.Sum256(der))
		}
		// RFC 8785: keys sorted, no white space.
		promised := fmt.Sprintf(`{"body":%q,"integratedTime":%d,"logID":%q,"logIndex":%d}`,
			b.Payload.Body, b.Payload.IntegratedTime, b.Payload.LogID, b.Payload.LogIndex)
		digest := sha256.Sum256([]byte(promised))
		b.SignedEntryTimestamp = must.Get(ecdsa.SignASN1(rand.Reader, key, digest[:]))(t)
	})
}

// otherKey replaces the key of the first log of a list in the trusted root, and keeps its id.
func otherKey(list string) func(object) {
	return func(root object) {
		der := orPanic(x509.MarshalPKIXPublicKey(orPanic(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)).Public()))
		root[list].([]any)[0].(object)["publicKey"].(object)["rawBytes"] = base64.StdEncoding.EncodeToString(der)
	}
}

// window changes when a member of a list in the trusted root, or its key, is valid.
func window(list string, i int, edge string, at time.Time) func(object) {
	return func(root object) {
		member := root[list].([]any)[i].(object)
		if key, ok := member["publicKey"].(object); ok {
			member = key
		}
		member["validFor"].(object)[edge] = at.UTC().Format(time.RFC3339)
	}
}

// bundleVerdicts are about the two forms of the evidence, and about timestamps.
func bundleVerdicts(w *world) []verdict {
	now := []time.Time{w.now}
	v03 := func(bend func(*protobundle.Bundle)) maker { return forged(set{onlyV03: true, v03: bend}) }
	beside := func(bend func(*protobundle.Bundle)) maker { return forged(set{v03: bend}) }
	return []verdict{
		{name: "cosign's bundle alone: a promise and no proof", doc: onlyOld(func(*seal.RekorBundle) {})},
		{name: "the Sigstore bundle alone", doc: onlyV03(func(*protobundle.Bundle) {})},

		{name: "the bundles hold different promises", want: verify.ReasonEvidenceMismatch, doc: beside(otherPromise)},
		{name: "the bundles hold different times", want: verify.ReasonEvidenceMismatch, doc: beside(func(b *protobundle.Bundle) { entry(b).IntegratedTime++ })},
		{name: "the bundles hold different indexes", want: verify.ReasonEvidenceMismatch, doc: beside(otherPlace)},
		{name: "the bundles name different logs", want: verify.ReasonEvidenceMismatch, doc: beside(func(b *protobundle.Bundle) { entry(b).LogId.KeyId[0] ^= 1 })},
		{name: "the bundles hold different bodies", want: verify.ReasonEvidenceMismatch, doc: beside(longerBody)},
		{name: "the old bundle holds another entry", want: verify.ReasonEvidenceMismatch, doc: forged(set{old: func(b *seal.RekorBundle) { b.Payload.LogIndex++ }})},
		{name: "the bundle holds another signature", want: verify.ReasonEvidenceMismatch, doc: v03(func(b *protobundle.Bundle) { b.GetMessageSignature().Signature[8] ^= 1 })},
		{name: "the bundle is about another digest", want: verify.ReasonEvidenceMismatch, doc: v03(func(b *protobundle.Bundle) { b.GetMessageSignature().MessageDigest.Digest[0] ^= 1 })},
		{name: "the bundle is about a digest of another kind", want: verify.ReasonEvidenceMismatch, doc: v03(func(b *protobundle.Bundle) {
			b.GetMessageSignature().MessageDigest.Algorithm = protocommon.HashAlgorithm_SHA2_512
		})},
		{name: "the bundle holds another certificate", want: verify.ReasonEvidenceMismatch, doc: v03(func(b *protobundle.Bundle) { b.VerificationMaterial.GetCertificate().RawBytes[40] ^= 1 })},
		{name: "the bundle holds a key instead of the certificate", want: verify.ReasonEvidenceMismatch, doc: v03(aKey)},

		{name: "the proof is broken and the promise right", want: verify.ReasonUnprovenLogEntry, doc: beside(otherRoot)},
		{name: "the proof is of another place", want: verify.ReasonUnprovenLogEntry, doc: beside(otherSize)},
		{name: "the checkpoint is signed by nobody", want: verify.ReasonUnprovenLogEntry, doc: beside(signedByNobody)},
		{name: "the promise is broken and the proof right", want: verify.ReasonUnprovenLogEntry, doc: v03(otherPromise)},
		{name: "no proof", want: verify.ReasonMalformedSignature, doc: beside(noProof)},
		{name: "two log entries", want: verify.ReasonMalformedSignature, doc: beside(twoEntries)},
		{name: "no log entry", want: verify.ReasonNoLogEntry, doc: v03(noEntry)},
		{name: "no log entry but a timestamp", want: verify.ReasonNoLogEntry, doc: forged(set{onlyV03: true, stamps: now, v03: noEntry})},
		{name: "the entry goes by another kind", differs: sameKind, want: verify.ReasonLogEntryMismatch, doc: v03(func(b *protobundle.Bundle) { entry(b).KindVersion.Kind = "rekord" })},
		{name: "the entry goes by another version", differs: sameKind, want: verify.ReasonLogEntryMismatch, doc: v03(func(b *protobundle.Bundle) { entry(b).KindVersion.Version = "0.0.2" })},
		{name: "bundle of another version", want: verify.ReasonMalformedSignature, doc: v03(func(b *protobundle.Bundle) {
			b.MediaType = "application/vnd.dev.sigstore.bundle+json;version=0.1"
		})},
		{name: "bundle of an envelope", want: verify.ReasonMalformedSignature, doc: v03(envelope)},
		{name: "bundle with a chain", want: verify.ReasonEvidenceMismatch, doc: v03(chainOfOne)},

		// The tree does not cover the time, so only the inclusion promise proves it.
		{name: "a time that no promise covers", want: verify.ReasonNoWitnessedTime, doc: v03(func(b *protobundle.Bundle) { entry(b).InclusionPromise = nil })},
		{name: "a stolen key, a late entry and a time of its own", want: verify.ReasonNoWitnessedTime, doc: forged(set{onlyV03: true,
			fulcio: valid(w, -366*day, -365*day),
			v03: func(b *protobundle.Bundle) {
				entry(b).InclusionPromise, entry(b).IntegratedTime = nil, w.now.Add(-365*day-time.Hour).Unix()
			}})},

		{name: "a timestamp beside the entry", doc: forged(set{stamps: now})},
		{name: "a timestamp instead of the promise", doc: forged(set{onlyV03: true, stamps: now, v03: noTime})},
		{name: "a timestamp and no log", doc: forged(set{onlyV03: true, stamps: now, v03: noEntry}), root: without("tlogs")},
		{name: "neither timestamp nor log", want: verify.ReasonNoWitnessedTime, doc: forged(set{onlyV03: true, v03: noEntry}), root: without("tlogs")},
		{name: "a timestamp and an entry of an unknown log", differs: everyEntry, want: verify.ReasonUnprovenLogEntry, doc: forged(set{onlyV03: true, stamps: now}), root: without("tlogs")},
		{name: "a timestamp of another signature", want: verify.ReasonNoWitnessedTime, root: without("tlogs"),
			doc: forged(set{onlyV03: true, v03: both(noEntry, strayStamp(w))})},
		{name: "a timestamp outside of the certificate's time", want: verify.ReasonCertificateNotValid,
			doc: forged(set{onlyV03: true, stamps: []time.Time{w.now.Add(time.Hour)}, v03: noEntry}), root: without("tlogs")},
		{name: "the log within the certificate's time and the timestamp outside", want: verify.ReasonCertificateNotValid,
			doc: forged(set{stamps: []time.Time{w.now.Add(time.Hour)}})},
		{name: "no timestamp authority and no log that counts", want: verify.ReasonNoLogEntry,
			doc: forged(set{onlyV03: true, stamps: now, v03: noEntry}), root: without("timestampAuthorities")},
		{name: "too many timestamps", want: verify.ReasonBadEvidence, doc: forged(set{stamps: slices.Repeat(now, 33)})},
		{name: "witnessed twice, the earlier time counts", want: verify.ReasonLifetimeTooLong,
			doc: forged(set{at: w.now.Add(2 * time.Minute), stamps: now}), policy: atMost("6d23h59m")},
	}
}

// strayStamp puts a timestamp of other data into a bundle.
func strayStamp(w *world) func(*protobundle.Bundle) {
	response := orPanic(w.ForgeTimestamp([]byte("another signature"), w.now))
	return func(b *protobundle.Bundle) { addStamp(b, response) }
}

// TestCheckedEvidence compares the verified evidence in a result with the real evidence.
func TestCheckedEvidence(t *testing.T) {
	w := inWorld(t)
	key := newKey()
	keyed := both(byKey(key, true), atMost(""))
	for _, tc := range []struct {
		name   string
		doc    maker
		policy func(*trust.Config)
		root   func(object)
		want   []string
	}{
		{"both bundles", honest, nil, nil, []string{"certificate-chain", "sct", "signed-entry-timestamp", "inclusion-proof"}},
		{"cosign's bundle", onlyOld(func(*seal.RekorBundle) {}), nil, nil, []string{"certificate-chain", "sct", "signed-entry-timestamp"}},
		{"no certificate log", honest, nil, without("ctlogs"), []string{"certificate-chain", "signed-entry-timestamp", "inclusion-proof"}},
		{"timestamp", forged(set{stamps: []time.Time{w.now}}), nil, nil, []string{"certificate-chain", "sct", "timestamp", "signed-entry-timestamp", "inclusion-proof"}},
		{"key", forged(set{key: key, keyed: true}), keyed, nil, []string{"public-key", "signed-entry-timestamp", "inclusion-proof"}},
		{"Rekor v2", forged(set{v2: true, stamps: []time.Time{w.now}}), nil, nil, []string{"certificate-chain", "sct", "timestamp", "inclusion-proof"}},
		{"two timestamps", forged(set{v2: true, stamps: []time.Time{w.now, w.now}}), nil, nil, []string{"certificate-chain", "sct", "timestamp", "inclusion-proof"}},
		{"Rekor v2, no certificate log", forged(set{v2: true, stamps: []time.Time{w.now}}), nil, without("ctlogs"), []string{"certificate-chain", "timestamp", "inclusion-proof"}},
		{"timestamp and no log", forged(set{onlyV03: true, stamps: []time.Time{w.now}, v03: noEntry}),
			nil, without("tlogs"), []string{"certificate-chain", "sct", "timestamp"}},
		{"key without log", withoutEvidence(set{key: key, keyed: true}), keyed, nil, []string{"public-key"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			verified := must.Get(w.verifier(t, tc.policy, tc.root).Verify(tc.doc(t, w), w.now))(t)
			sameStrings(t, verified.Signatures()[0].Checked, tc.want)
		})
	}
}

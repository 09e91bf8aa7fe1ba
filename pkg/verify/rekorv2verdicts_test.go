package verify_test

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"maps"
	"slices"
	"testing"
	"time"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/must"
)

// Further causes for other verdicts of cosign.
const (
	everyStamp = "a timestamp that is there has to hold, even where the log says when it was signed"
	fewStamps  = "a signature has four timestamps at most"
	logsWindow = "the log's key has to be in use at the time that the timestamp authority says"
	whatIsSaid = "what the bundle says was logged has to be what was logged"
)

// rekorV2Verdicts are about Rekor v2 logs, which prove no time, about timestamps, and about the
// evidence that a trusted root requires.
func rekorV2Verdicts(w *world) []verdict {
	now := []time.Time{w.now}
	v2 := func(s set) maker {
		s.v2 = true
		return forged(s)
	}
	stamped := func(bend func(*protobundle.Bundle)) maker { return v2(set{stamps: now, v03: bend}) }
	key := newKey()
	der := orPanic(x509.MarshalPKIXPublicKey(key.Public()))
	keyed := byKey(key, false)
	return []verdict{
		{name: "Rekor v2 and a timestamp", doc: v2(set{stamps: now})},
		{name: "Rekor v2 and a timestamp, by a key", doc: stated(0, set{key: key, keyed: true, v2: true, stamps: now}), policy: keyed},
		{name: "Rekor v2, expired", want: verify.ReasonExpired, doc: v2(set{stamps: now}), after: 8 * day},
		{name: "Rekor v2 without a timestamp", want: verify.ReasonNoWitnessedTime, doc: v2(set{})},
		{name: "Rekor v2 without a timestamp, by a key", want: verify.ReasonNoWitnessedTime, differs: witnessed, doc: v2(set{key: key, keyed: true}), policy: keyed},

		// The trusted root decides.
		{name: "a root of Rekor v1, an entry of v1", doc: forged(set{}), root: logs("v1")},
		{name: "a root of Rekor v1, an entry of v2", want: verify.ReasonUnprovenLogEntry, doc: v2(set{stamps: now}), root: logs("v1")},
		{name: "a root of Rekor v2, an entry of v2", doc: v2(set{stamps: now}), root: logs("v2")},
		{name: "a root of Rekor v2, an entry of v1", want: verify.ReasonUnprovenLogEntry, doc: forged(set{}), root: logs("v2")},
		{name: "a root of Rekor v2 without a timestamp authority", want: verify.ReasonNoWitnessedTime, doc: v2(set{stamps: now}),
			root: both(logs("v2"), without("timestampAuthorities"))},
		{name: "a root without a log, an entry of v2", want: verify.ReasonUnprovenLogEntry, differs: everyEntry, doc: v2(set{stamps: now}), root: without("tlogs")},
		{name: "a root without a certificate log, Rekor v2", root: without("ctlogs"), doc: v2(set{stamps: now, fulcio: noSCT})},
		{name: "Rekor v2, no SCT", want: verify.ReasonNoSCT, doc: v2(set{stamps: now, fulcio: noSCT})},
		{name: "a timestamp authority that is listed and not asked", doc: forged(set{})},
		{name: "Rekor v2 at another address", want: verify.ReasonUnprovenLogEntry, doc: v2(set{stamps: now}), root: logAddress("https://rekor.example.com")},
		{name: "Rekor v2 at no address", want: verify.ReasonUnprovenLogEntry, doc: v2(set{stamps: now}), root: logAddress("")},
		{name: "Rekor v2, the key retired before", want: verify.ReasonUnprovenLogEntry, differs: logsWindow, doc: v2(set{stamps: now}), root: window("tlogs", 1, "end", w.now.Add(-time.Minute))},
		{name: "Rekor v2, the key not in use yet", want: verify.ReasonUnprovenLogEntry, differs: logsWindow, doc: v2(set{stamps: now}), root: window("tlogs", 1, "start", w.now.Add(time.Minute))},
		{name: "a private Sigstore under its own root", doc: elsewhereSealed, root: elsewhereRoot, policy: elsewherePolicy},
		{name: "a private Sigstore under another root", want: verify.ReasonUnprovenLogEntry, doc: elsewhereSealed, policy: elsewherePolicy},

		// Statements of the bundle about the entry.
		{name: "Rekor v2, the entry goes by version 1", want: verify.ReasonLogEntryMismatch, differs: sameKind, doc: stamped(func(b *protobundle.Bundle) { entry(b).KindVersion.Version = "0.0.1" })},
		{name: "Rekor v2, a time beside the entry", want: verify.ReasonMalformedSignature, doc: stamped(func(b *protobundle.Bundle) { entry(b).IntegratedTime = w.now.Unix() })},
		{name: "Rekor v2, a time and no timestamp", want: verify.ReasonMalformedSignature, doc: v2(set{v03: func(b *protobundle.Bundle) { entry(b).IntegratedTime = w.now.Unix() }})},
		{name: "Rekor v2, a promise", want: verify.ReasonMalformedSignature, doc: stamped(func(b *protobundle.Bundle) {
			entry(b).InclusionPromise = &protorekor.InclusionPromise{SignedEntryTimestamp: []byte("x")}
		})},
		{name: "Rekor v2, no proof", want: verify.ReasonMalformedSignature, doc: stamped(noProof)},
		{name: "Rekor v2, another root hash", want: verify.ReasonUnprovenLogEntry, differs: whatIsSaid, doc: stamped(otherRoot)},
		{name: "Rekor v2, another tree size", want: verify.ReasonUnprovenLogEntry, differs: whatIsSaid, doc: stamped(otherSize)},
		{name: "Rekor v2, another place in the proof", want: verify.ReasonUnprovenLogEntry, differs: whatIsSaid, doc: stamped(func(b *protobundle.Bundle) { entry(b).InclusionProof.LogIndex++ })},
		{name: "Rekor v2, another place in the log", want: verify.ReasonUnprovenLogEntry, doc: stamped(otherPlace)},
		{name: "Rekor v2, another body of the same meaning", want: verify.ReasonUnprovenLogEntry, differs: whatIsSaid, doc: stamped(longerBody)},
		{name: "Rekor v2, a checkpoint that nobody signed", want: verify.ReasonUnprovenLogEntry, doc: stamped(signedByNobody)},
		{name: "Rekor v2, an empty spec", want: verify.ReasonUnsupportedLogEntry, doc: v2(set{stamps: now, rawBody: []byte(`{"apiVersion":"0.0.2","kind":"hashedrekord","spec":{}}`)})},
		{name: "Rekor v2, another digest", want: verify.ReasonLogEntryMismatch, doc: v2(set{stamps: now,
			body: put(base64.StdEncoding.EncodeToString(make([]byte, sha256.Size)), "spec", "hashedRekordV002", "data", "digest")})},
		{name: "Rekor v2, another signature", want: verify.ReasonLogEntryMismatch, doc: v2(set{stamps: now,
			body: put(base64.StdEncoding.EncodeToString([]byte("x")), "spec", "hashedRekordV002", "signature", "content")})},
		{name: "Rekor v2, the bare key", want: verify.ReasonLogEntryMismatch, doc: v2(set{key: key, stamps: now, body: put(keyVerifier(der), "spec", "hashedRekordV002", "signature", "verifier")})},
		{name: "an entry of version 1 in Rekor v2", want: verify.ReasonUnprovenLogEntry, doc: v2(set{stamps: now, body: toV1,
			v03: func(b *protobundle.Bundle) { entry(b).KindVersion.Version = "0.0.1" }})},
		{name: "an entry of Rekor v2, said to be one of version 1", want: verify.ReasonUnprovenLogEntry, differs: whatIsSaid, doc: stamped(func(b *protobundle.Bundle) {
			tree := treeOf(entry(b).CanonicalizedBody)
			toV1(tree)
			entry(b).CanonicalizedBody, entry(b).KindVersion.Version = orPanic(json.Marshal(tree)), "0.0.1"
		})},
		{name: "an entry of version 2 in Rekor v1, promised", want: verify.ReasonMalformedSignature, doc: v2InV1(true)},
		{name: "an entry of version 2 in Rekor v1, stamped", want: verify.ReasonUnprovenLogEntry, differs: whatIsSaid, doc: v2InV1(false)},
		{name: "an entry of Rekor v1 beside one of v2", want: verify.ReasonEvidenceMismatch, differs: everySet, doc: bothLogs},

		// Timestamps.
		{name: "Rekor v2, a stranger's timestamp", want: verify.ReasonNoWitnessedTime, doc: v2(set{v03: strangersStamp(w)})},
		{name: "Rekor v2, a timestamp of another signature", want: verify.ReasonNoWitnessedTime, doc: v2(set{v03: strayStamp(w)})},
		{name: "Rekor v2, stamped before the authority was trusted", want: verify.ReasonNoWitnessedTime, doc: v2(set{stamps: []time.Time{w.now.Add(-10 * time.Minute)}})},
		{name: "Rekor v2, stamped after the authority was retired", want: verify.ReasonNoWitnessedTime, doc: v2(set{stamps: now}), root: window("timestampAuthorities", 0, "end", w.now.Add(-time.Second))},
		{name: "Rekor v2, stamped before the authority was retired", doc: v2(set{stamps: now}), root: window("timestampAuthorities", 0, "end", w.now.Add(time.Minute))},
		{name: "Rekor v2, stamped outside of the certificate's time", want: verify.ReasonCertificateNotValid, doc: v2(set{stamps: []time.Time{w.now.Add(time.Hour)}})},
		{name: "Rekor v2, stamped in the future", want: verify.ReasonSignedInFuture,
			doc: v2(set{stamps: []time.Time{w.now.Add(20 * time.Minute)}, fulcio: valid(w, -2*time.Minute, time.Hour)})},
		{name: "Rekor v2, too long a life since its stamp", want: verify.ReasonLifetimeTooLong, doc: v2(set{stamps: now}), policy: atMost("6d")},
		{name: "Rekor v2, stamped twice by one authority", doc: v2(set{stamps: []time.Time{w.now, w.now.Add(time.Second)}})},
		{name: "Rekor v2, stamped as often as may be", doc: v2(set{stamps: slices.Repeat(now, 4)})},
		{name: "Rekor v2, stamped once more", want: verify.ReasonBadEvidence, differs: fewStamps, doc: v2(set{stamps: slices.Repeat(now, 5)})},
		{name: "Rekor v2, a good timestamp and a stranger's", want: verify.ReasonBadEvidence, differs: everyStamp, doc: v2(set{stamps: now, v03: strangersStamp(w)})},
		{name: "Rekor v1, a stranger's timestamp", want: verify.ReasonBadEvidence, doc: forged(set{onlyV03: true, v03: strangersStamp(w)})},
		{name: "Rekor v1, a timestamp of another signature", want: verify.ReasonBadEvidence, doc: forged(set{onlyV03: true, v03: strayStamp(w)})},
		{name: "Rekor v1, a timestamp and no authority that is listed", want: verify.ReasonBadEvidence, differs: everyStamp, doc: forged(set{onlyV03: true, stamps: now}), root: without("timestampAuthorities")},
	}
}

// logs keeps only the log of one version in the root.
func logs(version string) func(object) {
	return func(root object) {
		all := root["tlogs"].([]any)
		root["tlogs"] = map[string][]any{"v1": all[:1], "v2": all[1:]}[version]
	}
}

func logAddress(address string) func(object) {
	return func(root object) { root["tlogs"].([]any)[1].(object)["baseUrl"] = address }
}

// toV1 converts the body of a Rekor v2 hashedrekord into one of Rekor v1 with the same content.
func toV1(root object) {
	raw := func(value any) []byte { return orPanic(base64.StdEncoding.DecodeString(value.(string))) }
	said := root["spec"].(object)["hashedRekordV002"].(object)
	signature := said["signature"].(object)
	certificate := raw(signature["verifier"].(object)["x509Certificate"].(object)["rawBytes"])
	signer := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})
	maps.Copy(root, rekordV1(raw(said["data"].(object)["digest"]), raw(signature["content"]), signer))
}

// signedV2 is the draft with a signature in the Rekor v2 log, without a timestamp.
func (w *world) signedV2(t *testing.T) (doc *exception.Document, s *seal.Seal, digest []byte) {
	t.Helper()
	doc = parse(t, w.until(week))
	message := must.Get(seal.Message(doc))(t)
	sum := sha256.Sum256(message)
	return doc, &seal.Seal{Message: message, Signatures: []seal.Signature{w.sign(t, message, set{v2: true})}}, sum[:]
}

// v2InV1: the Rekor v1 log has an entry in the form of v2, with an inclusion promise and a time, or with a timestamp.
func v2InV1(promised bool) maker {
	return func(t *testing.T, w *world) *exception.Document {
		doc, s, digest := w.signedV2(t)
		entryV1 := must.Get(w.ForgeEntry(
			t.Context(), orPanic(json.Marshal(rekordV2(digest, s.Signatures[0], nil))), w.now))(t)
		pb := bundleV03(t, entryV1, digest, s.Signatures[0])
		if !promised {
			noTime(pb)
			w.stamp(t, pb, w.now)
		}
		s.Signatures[0].BundleV03 = marshal(t, pb)
		return attach(t, doc, s)
	}
}

// bothLogs has an entry in each log for one signature, each in its form.
func bothLogs(t *testing.T, w *world) *exception.Document {
	doc, s, digest := w.signedV2(t)
	signature := &s.Signatures[0]
	signature.Bundle = oldForm(w.log(t, set{}, digest, *signature))
	signature.BundleV03 = bent(t, signature.BundleV03, func(b *protobundle.Bundle) { w.stamp(t, b, w.now) })
	return attach(t, doc, s)
}

// strangersStamp adds a timestamp of the signature by an authority that is not in the root.
func strangersStamp(w *world) func(*protobundle.Bundle) {
	return func(b *protobundle.Bundle) {
		addStamp(b, orPanic(orPanic(elsewhere()).ForgeTimestamp(b.GetMessageSignature().GetSignature(), w.now)))
	}
}

// elsewhereSealed is signed with another Sigstore and all of its evidence.
func elsewhereSealed(t *testing.T, _ *world) *exception.Document {
	other := orPanic(elsewhere())
	return other.sealed(t, other.until(week), set{v2: true, stamps: []time.Time{other.now}})
}

func elsewhereRoot(root object) {
	clear(root)
	maps.Copy(root, treeOf(orPanic(elsewhere()).root))
}

func elsewherePolicy(c *trust.Config) { c.Authorities[0].Issuer = orPanic(elsewhere()).IssuerURL }

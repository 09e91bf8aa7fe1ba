package verify_test

import (
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sigstore/fulcio/pkg/certificate"
	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
	"github.com/sigstore/rekor/pkg/generated/models"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/test/must"
)

// set is a signature set by a malicious Sigstore that signs anything. Without further fields it is valid.
type set struct {
	key         *ecdsa.PrivateKey                  // nil: a new one
	keyed       bool                               // no certificate
	certificate func(key *ecdsa.PrivateKey) []byte // DER, instead of Fulcio's
	selfSigned  func(*x509.Certificate)            // changes the template of a certificate that its own key signs
	fulcio      func(*sandbox.Forgery)
	identity    func(*certificate.Extensions)
	signature   []byte              // instead of the right one
	body        func(rekord object) // changes a hashedrekord
	rawBody     []byte              // instead of a hashedrekord
	at          time.Time
	old         func(*seal.RekorBundle)
	v03         func(*protobundle.Bundle)
	stamps      []time.Time // by the timestamp authority
	onlyOld     bool
	onlyV03     bool
	bare        bool // without any bundle
	v2          bool // logged by Rekor v2, which has no old form
}

// forgery returns a certificate for a key, like the honest one.
func (w *world) forgery(t testing.TB, key *ecdsa.PrivateKey, identity func(*certificate.Extensions)) sandbox.Forgery {
	t.Helper()
	const sha = "5a0db0c0ffee5a0db0c0ffee5a0db0c0ffee5a0d"
	said := certificate.Extensions{
		Issuer: w.IssuerURL, BuildSignerURI: subject, BuildSignerDigest: sha, RunnerEnvironment: "github-hosted",
		SourceRepositoryURI: "https://github.com/acme/exceptions", SourceRepositoryDigest: sha, SourceRepositoryRef: "refs/heads/main",
		SourceRepositoryIdentifier: "1001", SourceRepositoryOwnerURI: "https://github.com/acme", SourceRepositoryOwnerIdentifier: "2001",
		BuildTrigger: "push", GithubWorkflowTrigger: "push", GithubWorkflowRef: "refs/heads/main", GithubWorkflowRepository: "acme/exceptions",
	}
	if identity != nil {
		identity(&said)
	}
	extensions := must.Get(said.Render())(t)
	return sandbox.Forgery{PublicKey: key.Public(), Template: &x509.Certificate{
		NotBefore: w.now.Add(-2 * time.Minute), NotAfter: w.now.Add(8 * time.Minute),
		URIs:     []*url.URL{must.Get(url.Parse(subject))(t)},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning},
		ExtraExtensions: extensions,
	}}
}

func (w *world) otherIssuer(e *certificate.Extensions) { e.Issuer = w.OtherIssuerURL }

// sign makes the set for a message.
func (w *world) sign(t testing.TB, message []byte, s set) seal.Signature {
	t.Helper()
	if s.key == nil {
		s.key = newKey()
	}
	var out seal.Signature
	switch {
	case s.certificate != nil:
		out.Certificate = s.certificate(s.key)
	case s.selfSigned != nil:
		out.Certificate = w.selfIssue(t, s.key, s.selfSigned)
	case !s.keyed:
		f := w.forgery(t, s.key, s.identity)
		if s.fulcio != nil {
			s.fulcio(&f)
		}
		out.Certificate = must.Get(w.ForgeCertificate(t.Context(), f))(t)
	}
	digest := sha256.Sum256(message)
	if out.Signature = s.signature; out.Signature == nil {
		out.Signature = must.Get(ecdsa.SignASN1(rand.Reader, s.key, digest[:]))(t)
	}
	if s.bare {
		return out
	}
	if s.v2 {
		entries := []*protorekor.TransparencyLogEntry{w.logV2(t, s, digest[:], out)}
		pb := bundleOf(&protobundle.VerificationMaterial{TlogEntries: entries}, digest[:], out)
		out.BundleV03 = marshal(t, w.finished(t, s, pb))
		return out
	}
	entry := w.log(t, s, digest[:], out)
	if !s.onlyV03 {
		out.Bundle = oldForm(entry)
		if s.old != nil {
			s.old(out.Bundle)
		}
	}
	if !s.onlyOld {
		out.BundleV03 = marshal(t, w.finished(t, s, bundleV03(t, entry, digest[:], out)))
	}
	return out
}

// selfIssue makes a certificate for a key that the key itself signs.
func (w *world) selfIssue(t testing.TB, key *ecdsa.PrivateKey, bend func(*x509.Certificate)) []byte {
	t.Helper()
	template := w.forgery(t, key, nil).Template
	template.SerialNumber = big.NewInt(1)
	bend(template)
	return must.Get(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))(t)
}

func asFulcio(*x509.Certificate) {}

// finished adds the timestamps of the set to its bundle, and changes it.
func (w *world) finished(t testing.TB, s set, pb *protobundle.Bundle) *protobundle.Bundle {
	t.Helper()
	for _, at := range s.stamps {
		w.stamp(t, pb, at)
	}
	if s.v03 != nil {
		s.v03(pb)
	}
	return pb
}

var again atomic.Int64

// log adds a set to the log, with any body.
func (w *world) log(t testing.TB, s set, digest []byte, sig seal.Signature) *models.LogEntryAnon {
	t.Helper()
	at := s.at
	if at.IsZero() {
		at = w.now
	}
	body := s.entryBody(t, func() object { return rekordV1(digest, sig.Signature, signerPEM(t, s.key, sig.Certificate)) })
	return must.Get(w.ForgeEntry(t.Context(), body, at))(t)
}

// entryBody returns the body of a log entry, sorted and without white space (RFC 8785).
func (s set) entryBody(t testing.TB, rekord func() object) []byte {
	t.Helper()
	if s.rawBody != nil {
		// The log rejects duplicates, and a case can run twice.
		return append(bytes.Clone(s.rawBody), bytes.Repeat([]byte(" "), int(again.Add(1)))...)
	}
	tree := rekord()
	if s.body != nil {
		s.body(tree)
	}
	return must.Get(json.Marshal(tree))(t)
}

// rekordV1 returns the body of a hashedrekord of version 0.0.1 as a tree.
func rekordV1(digest, signature, signer []byte) object {
	return object{"apiVersion": "0.0.1", "kind": "hashedrekord", "spec": object{
		"data":      object{"hash": object{"algorithm": "sha256", "value": hex.EncodeToString(digest)}},
		"signature": object{"content": base64.StdEncoding.EncodeToString(signature), "publicKey": pemContent(signer)},
	}}
}

func pemContent(signer []byte) object {
	return object{"content": base64.StdEncoding.EncodeToString(signer)}
}

// stamp adds a timestamp of the signature in a bundle.
func (w *world) stamp(t testing.TB, pb *protobundle.Bundle, at time.Time) {
	t.Helper()
	addStamp(pb, must.Get(w.ForgeTimestamp(pb.GetMessageSignature().GetSignature(), at))(t))
}

func addStamp(pb *protobundle.Bundle, response []byte) {
	data := pb.VerificationMaterial.TimestampVerificationData
	if data == nil {
		data = &protobundle.TimestampVerificationData{}
		pb.VerificationMaterial.TimestampVerificationData = data
	}
	data.Rfc3161Timestamps = append(data.Rfc3161Timestamps, &protocommon.RFC3161SignedTimestamp{SignedTimestamp: response})
}

func signerPEM(t testing.TB, key *ecdsa.PrivateKey, certificate []byte) []byte {
	t.Helper()
	if certificate != nil {
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: must.Get(x509.MarshalPKIXPublicKey(key.Public()))(t)})
}

func oldForm(entry *models.LogEntryAnon) *seal.RekorBundle {
	return &seal.RekorBundle{
		SignedEntryTimestamp: entry.Verification.SignedEntryTimestamp,
		Payload: seal.RekorPayload{Body: entry.Body.(string), IntegratedTime: *entry.IntegratedTime,
			LogIndex: *entry.LogIndex, LogID: *entry.LogID},
	}
}

// bundleV03 shares no bytes with the set, so that a case can change one of the two.
func bundleV03(t testing.TB, entry *models.LogEntryAnon, digest []byte, sig seal.Signature) *protobundle.Bundle {
	t.Helper()
	unhex := func(text string) []byte { return must.Get(hex.DecodeString(text))(t) }
	body := must.Get(base64.StdEncoding.DecodeString(entry.Body.(string)))(t)
	var kind struct{ Kind, APIVersion string }
	_ = json.Unmarshal(body, &kind) // a body that is not JSON has no kind
	proof := entry.Verification.InclusionProof
	said := &protorekor.InclusionProof{LogIndex: *proof.LogIndex, TreeSize: *proof.TreeSize, RootHash: unhex(*proof.RootHash),
		Checkpoint: &protorekor.Checkpoint{Envelope: *proof.Checkpoint}}
	for _, hash := range proof.Hashes {
		said.Hashes = append(said.Hashes, unhex(hash))
	}
	material := &protobundle.VerificationMaterial{TlogEntries: []*protorekor.TransparencyLogEntry{{
		LogIndex: *entry.LogIndex, LogId: &protocommon.LogId{KeyId: unhex(*entry.LogID)}, IntegratedTime: *entry.IntegratedTime,
		KindVersion:      &protorekor.KindVersion{Kind: kind.Kind, Version: kind.APIVersion},
		InclusionPromise: &protorekor.InclusionPromise{SignedEntryTimestamp: bytes.Clone(entry.Verification.SignedEntryTimestamp)},
		InclusionProof:   said, CanonicalizedBody: body,
	}}}
	return bundleOf(material, digest, sig)
}

// bundleOf adds the signer, the digest and the signature to log entries.
func bundleOf(material *protobundle.VerificationMaterial, digest []byte, sig seal.Signature) *protobundle.Bundle {
	if sig.Certificate != nil {
		certificate := &protocommon.X509Certificate{RawBytes: bytes.Clone(sig.Certificate)}
		material.Content = &protobundle.VerificationMaterial_Certificate{Certificate: certificate}
	} else {
		key := &protocommon.PublicKeyIdentifier{Hint: "whatever"}
		material.Content = &protobundle.VerificationMaterial_PublicKey{PublicKey: key}
	}
	return &protobundle.Bundle{
		MediaType: "application/vnd.dev.sigstore.bundle.v0.3+json", VerificationMaterial: material,
		Content: &protobundle.Bundle_MessageSignature{MessageSignature: &protocommon.MessageSignature{
			MessageDigest: &protocommon.HashOutput{Algorithm: protocommon.HashAlgorithm_SHA2_256, Digest: digest}, Signature: bytes.Clone(sig.Signature)}},
	}
}

// sealed returns a document with the sets, each over its message.
func (w *world) sealed(t testing.TB, yaml string, sets ...set) *exception.Document {
	t.Helper()
	doc := parse(t, yaml)
	message := must.Get(seal.Message(doc))(t)
	s := &seal.Seal{Message: message}
	for _, one := range sets {
		s.Signatures = append(s.Signatures, w.sign(t, message, one))
	}
	return attach(t, doc, s)
}

// resealed returns the honest document with changed signature annotations.
func (w *world) resealed(t testing.TB, bend func(*seal.Seal)) *exception.Document {
	t.Helper()
	s := must.Get(seal.Read(w.honest))(t)
	plain := parse(t, string(s.Message))
	bend(s)
	return attach(t, plain, s)
}

func attach(t testing.TB, doc *exception.Document, s *seal.Seal) *exception.Document {
	t.Helper()
	return must.Get(seal.Attach(doc, s))(t)
}

func bent(t testing.TB, raw []byte, bend func(*protobundle.Bundle)) []byte {
	t.Helper()
	pb := readBundle(t, raw)
	bend(pb)
	return marshal(t, pb)
}

func readBundle(t testing.TB, raw []byte) *protobundle.Bundle {
	t.Helper()
	pb := new(protobundle.Bundle)
	must.Do(t, protojson.Unmarshal(raw, pb))
	return pb
}

func marshal(t testing.TB, pb *protobundle.Bundle) []byte {
	t.Helper()
	return must.Get(protojson.Marshal(pb))(t)
}

// packed returns base64(gzip(text)), as in the annotations.
func packed(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	orPanic(z.Write([]byte(text)))
	orPanic(z, z.Close())
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// entry returns the only log entry of a bundle.
func entry(b *protobundle.Bundle) *protorekor.TransparencyLogEntry {
	return b.VerificationMaterial.TlogEntries[0]
}

// Changes of a bundle that several tables make.

func noEntry(b *protobundle.Bundle) { b.VerificationMaterial.TlogEntries = nil }

func twoEntries(b *protobundle.Bundle) {
	b.VerificationMaterial.TlogEntries = append(b.VerificationMaterial.TlogEntries, entry(b))
}

func noTime(b *protobundle.Bundle) { entry(b).InclusionPromise, entry(b).IntegratedTime = nil, 0 }

func otherPromise(b *protobundle.Bundle) { entry(b).InclusionPromise.SignedEntryTimestamp[10] ^= 1 }

func otherPlace(b *protobundle.Bundle) { entry(b).LogIndex++ }

func longerBody(b *protobundle.Bundle) {
	entry(b).CanonicalizedBody = append(entry(b).CanonicalizedBody, ' ')
}

func noProof(b *protobundle.Bundle) { entry(b).InclusionProof = nil }

func otherRoot(b *protobundle.Bundle) { entry(b).InclusionProof.RootHash[0] ^= 1 }

func otherSize(b *protobundle.Bundle) { entry(b).InclusionProof.TreeSize++ }

func signedByNobody(b *protobundle.Bundle) {
	c := entry(b).InclusionProof.Checkpoint
	c.Envelope = c.Envelope[:len(c.Envelope)-8] + "AAAAAA=\n"
}

func envelope(b *protobundle.Bundle) { b.Content = &protobundle.Bundle_DsseEnvelope{} }

func aKey(b *protobundle.Bundle) {
	b.VerificationMaterial.Content = &protobundle.VerificationMaterial_PublicKey{PublicKey: &protocommon.PublicKeyIdentifier{}}
}

// chained puts a chain in the place of the certificate.
func chained(chain ...*protocommon.X509Certificate) func(*protobundle.Bundle) {
	return func(b *protobundle.Bundle) {
		b.VerificationMaterial.Content = &protobundle.VerificationMaterial_X509CertificateChain{
			X509CertificateChain: &protocommon.X509CertificateChain{Certificates: chain}}
	}
}

// chainOfOne puts a chain of the certificate in its place.
func chainOfOne(b *protobundle.Bundle) { chained(b.VerificationMaterial.GetCertificate())(b) }

func readSeal(t testing.TB, doc *exception.Document) *seal.Seal {
	t.Helper()
	return must.Get(seal.Read(doc))(t)
}

// rekordV2 returns the body of a hashedrekord of version 0.0.2 as a tree.
func rekordV2(digest []byte, sig seal.Signature, keyDER []byte) object {
	text := base64.StdEncoding.EncodeToString
	verifier := keyVerifier(keyDER)
	if sig.Certificate != nil {
		verifier = object{"keyDetails": verifier["keyDetails"], "x509Certificate": object{"rawBytes": text(sig.Certificate)}}
	}
	return object{"apiVersion": "0.0.2", "kind": "hashedrekord", "spec": object{"hashedRekordV002": object{
		"data":      object{"algorithm": "SHA2_256", "digest": text(digest)},
		"signature": object{"content": text(sig.Signature), "verifier": verifier},
	}}}
}

func keyVerifier(keyDER []byte) object {
	key := object{"rawBytes": base64.StdEncoding.EncodeToString(keyDER)}
	return object{"keyDetails": "PKIX_ECDSA_P256_SHA_256", "publicKey": key}
}

// logV2 adds a set to the Rekor v2 log, with any body.
func (w *world) logV2(t testing.TB, s set, digest []byte, sig seal.Signature) *protorekor.TransparencyLogEntry {
	t.Helper()
	body := s.entryBody(t, func() object { return rekordV2(digest, sig, must.Get(x509.MarshalPKIXPublicKey(s.key.Public()))(t)) })
	return must.Get(w.ForgeEntryV2(t.Context(), body))(t)
}

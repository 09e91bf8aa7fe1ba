package verify_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"testing"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
	"github.com/sigstore/sigstore-go/pkg/bundle"
	sgverify "github.com/sigstore/sigstore-go/pkg/verify"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// BenchmarkCompare measures the comparison of object and message. test/interop compares the whole
// verification with other programs.
func BenchmarkCompare(b *testing.B) {
	w := inWorld(b)
	message := parse(b, string(readSeal(b, w.honest).Message))
	b.ReportAllocs()
	for b.Loop() {
		expect.Empty(b, "differences", seal.Compare(w.honest, message, 4))
	}
}

// BenchmarkVerifyTwoSigners verifies the two signatures of 2022 with the public-good root, and without remembered
// certificates. BenchmarkBareVerifyTwoSigners does the same with sigstore-go alone.
func BenchmarkVerifyTwoSigners(b *testing.B) {
	source := peerSample(b).Source()
	b.ReportAllocs()
	for b.Loop() {
		v := publicVerifier(b, twoSigners())
		doc := must.Get(exception.Parse(source, "sealed.yaml"))(b)
		must.Get(v.Verify(doc, sampleNow))(b)
	}
}

func BenchmarkBareVerifyTwoSigners(b *testing.B) {
	root := must.Get(trust.PublicGoodRoot())(b)
	s := readSeal(b, peerSample(b))
	var bundles [][]byte
	for _, sig := range s.Signatures {
		bundles = append(bundles, marshal(b, liftByHand(b, s.Message, sig)))
	}
	bareVerify(b, root, twoSigners().Authorities, s.Message, bundles)
}

// bareVerify verifies bundles from their bytes with sigstore-go only, each with any of the identities.
func bareVerify(b *testing.B, root *trust.Root, who []trust.AuthorityConfig, message []byte, bundles [][]byte) {
	b.Helper()
	v := must.Get(sgverify.NewVerifier(root.Material(), sgverify.WithTransparencyLog(1),
		sgverify.WithObserverTimestamps(1), sgverify.WithSignedCertificateTimestamps(1)))(b)
	var identities []sgverify.PolicyOption
	for _, a := range who {
		identity := must.Get(sgverify.NewShortCertificateIdentity(a.Issuer, "", a.Subject, ""))(b)
		identities = append(identities, sgverify.WithCertificateIdentity(identity))
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, raw := range bundles {
			pb := new(protobundle.Bundle)
			must.Do(b, protojson.Unmarshal(raw, pb))
			entity := must.Get(bundle.NewBundle(pb))(b)
			policy := sgverify.NewPolicy(sgverify.WithArtifact(bytes.NewReader(message)), identities...)
			must.Get(v.Verify(entity, policy))(b)
		}
	}
}

// liftByHand converts cosign's form into a Sigstore bundle, independently of the tested code.
func liftByHand(t testing.TB, message []byte, sig seal.Signature) *protobundle.Bundle {
	t.Helper()
	body := must.Get(base64.StdEncoding.DecodeString(sig.Bundle.Payload.Body))(t)
	id := must.Get(hex.DecodeString(sig.Bundle.Payload.LogID))(t)
	digest := sha256.Sum256(message)
	return &protobundle.Bundle{
		MediaType: "application/vnd.dev.sigstore.bundle+json;version=0.1",
		VerificationMaterial: &protobundle.VerificationMaterial{
			Content: &protobundle.VerificationMaterial_X509CertificateChain{X509CertificateChain: &protocommon.X509CertificateChain{
				Certificates: []*protocommon.X509Certificate{{RawBytes: sig.Certificate}}}},
			TlogEntries: []*protorekor.TransparencyLogEntry{{
				LogIndex: sig.Bundle.Payload.LogIndex, LogId: &protocommon.LogId{KeyId: id}, IntegratedTime: sig.Bundle.Payload.IntegratedTime,
				KindVersion:       &protorekor.KindVersion{Kind: "hashedrekord", Version: "0.0.1"},
				InclusionPromise:  &protorekor.InclusionPromise{SignedEntryTimestamp: sig.Bundle.SignedEntryTimestamp},
				CanonicalizedBody: body}},
		},
		Content: &protobundle.Bundle_MessageSignature{MessageSignature: &protocommon.MessageSignature{
			MessageDigest: &protocommon.HashOutput{Algorithm: protocommon.HashAlgorithm_SHA2_256, Digest: digest[:]}, Signature: sig.Signature}},
	}
}

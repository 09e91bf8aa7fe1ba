package interop_test

import (
	"bytes"
	"encoding/base64"
	"encoding/pem"
	"testing"

	"github.com/sigstore/cosign/v2/pkg/cosign"
	cosignbundle "github.com/sigstore/cosign/v2/pkg/cosign/bundle"
	"github.com/sigstore/cosign/v2/pkg/oci/static"
	sgbundle "github.com/sigstore/sigstore-go/pkg/bundle"
	sgverify "github.com/sigstore/sigstore-go/pkg/verify"

	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/test/must"
)

// cosign verifies a signed message as a blob with either form of the evidence, like its command
// verify-blob with --bundle and an identity.
func TestCosignVerifiesOurs(t *testing.T) {
	options := func(subject string) *cosign.CheckOpts {
		return &cosign.CheckOpts{TrustedMaterial: world.root.Material(), Offline: true,
			Identities: []cosign.Identity{{Issuer: world.IssuerURL, Subject: subject}}}
	}
	modern := func(s *seal.Seal, message []byte, subject string) error {
		b := new(sgbundle.Bundle)
		if err := b.UnmarshalJSON(s.Signatures[0].BundleV03); err != nil {
			return err
		}
		_, err := cosign.VerifyNewBundle(t.Context(), options(subject), sgverify.WithArtifact(bytes.NewReader(message)), b)
		return err
	}
	old := func(s *seal.Seal, message []byte, subject string) error {
		first := s.Signatures[0]
		certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: first.Certificate})
		signature, err := static.NewSignature(message, base64.StdEncoding.EncodeToString(first.Signature),
			static.WithCertChain(certificate, nil),
			static.WithBundle(&cosignbundle.RekorBundle{
				SignedEntryTimestamp: first.Bundle.SignedEntryTimestamp,
				Payload: cosignbundle.RekorPayload{Body: first.Bundle.Payload.Body, IntegratedTime: first.Bundle.Payload.IntegratedTime,
					LogIndex: first.Bundle.Payload.LogIndex, LogID: first.Bundle.Payload.LogID},
			}))
		if err != nil {
			return err
		}
		_, err = cosign.VerifyBlobSignature(t.Context(), signature, options(subject))
		return err
	}
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			s := must.Get(seal.Read(parse(t, sealed(t, text))))(t)
			for form, check := range map[string]func(*seal.Seal, []byte, string) error{"bundle.v0.3": modern, "bundle": old} {
				if err := check(s, s.Message, subject()); err != nil {
					t.Errorf("%s: cosign refuses: %v", form, err)
				}
				if check(s, append([]byte("#"), s.Message...), subject()) == nil {
					t.Errorf("%s: cosign accepts another message", form)
				}
				if check(s, s.Message, subject()+"-evil") == nil {
					t.Errorf("%s: cosign accepts another signer", form)
				}
			}
		})
	}
}

package interop_test

import (
	"bytes"
	"encoding/base64"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	"github.com/sigstore/cosign/v2/pkg/cosign"
	cosignbundle "github.com/sigstore/cosign/v2/pkg/cosign/bundle"
	"github.com/sigstore/cosign/v2/pkg/oci/static"
	prototrustroot "github.com/sigstore/protobuf-specs/gen/pb-go/trustroot/v1"
	sgbundle "github.com/sigstore/sigstore-go/pkg/bundle"
	sgroot "github.com/sigstore/sigstore-go/pkg/root"
	sgsign "github.com/sigstore/sigstore-go/pkg/sign"
	sgverify "github.com/sigstore/sigstore-go/pkg/verify"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/sign"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// cosign verifies a signed message as a blob with either form of the evidence, with a log of each version of
// Rekor, like its command verify-blob with --bundle and an identity.
func TestCosignVerifiesOurs(t *testing.T) {
	options := func(subject string) *cosign.CheckOpts {
		return &cosign.CheckOpts{TrustedMaterial: world.root.Material(), Offline: true,
			Identities: []cosign.Identity{{Issuer: world.IssuerURL, Subject: subject}}}
	}
	modern := func(o *cosign.CheckOpts, s *seal.Seal, message []byte) error {
		b := new(sgbundle.Bundle)
		if err := b.UnmarshalJSON(s.Signatures[0].BundleV03); err != nil {
			return err
		}
		_, err := cosign.VerifyNewBundle(t.Context(), o, sgverify.WithArtifact(bytes.NewReader(message)), b)
		return err
	}
	old := func(o *cosign.CheckOpts, s *seal.Seal, message []byte) error {
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
		_, err = cosign.VerifyBlobSignature(t.Context(), signature, o)
		return err
	}
	v1 := sign.Config{RekorURL: world.RekorURL}
	v2 := sign.Config{RekorURL: world.RekorV2URL, RekorVersion: 2, TimestampURL: world.TimestampURL}
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			for form, tc := range map[string]struct {
				config    sign.Config
				check     func(*cosign.CheckOpts, *seal.Seal, []byte) error
				newFormat bool // of cosign's options
			}{
				"bundle.v0.3": {v1, modern, false}, "bundle": {v1, old, false},
				"bundle.v0.3, new format": {v1, modern, true}, "bundle.v0.3 of Rekor 2": {v2, modern, true},
			} {
				tc.config.Root = world.root
				token := must.Get(world.Token(sandbox.Identity{}, "sigstore"))(t)
				signer := must.Get(sign.Keyless(t.Context(), tc.config, world.FulcioURL, token, time.Now()))(t)
				out := must.Get(signer.Seal(t.Context(), []*exception.Document{parse(t, text)}, time.Now()))(t)
				s := must.Get(seal.Read(out[0]))(t)
				check := func(message []byte, subject string) error {
					o := options(subject)
					o.NewBundleFormat, o.UseSignedTimestamps = tc.newFormat, tc.config.RekorVersion == 2
					return tc.check(o, s, message)
				}
				err := check(s.Message, subject())
				expect.That(t, err == nil, "%s: cosign refuses: %v", form, err)
				expect.That(t, check(append([]byte("#"), s.Message...), subject()) != nil,
					"%s: cosign accepts another message", form)
				expect.That(t, check(s.Message, subject()+"-evil") != nil, "%s: cosign accepts another signer", form)
			}
		})
	}
}

// blob is an exception as a file. cosign signs all its bytes.
const blob = `# Signed as it stands, this comment too.
apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata:
  name: plain
  namespace: team-a
spec:
  expiresAt: "2099-12-31T00:00:00Z"
  policyRefs:
  - name: disallow-host-path
    kind: ValidatingPolicy
`

// signingConfig is a signing configuration for cosign, with a log of one version of Rekor and with
// or without a timestamp authority.
func signingConfig(t *testing.T, rekorURL string, version uint32, timestampURL string) *sgroot.SigningConfig {
	t.Helper()
	service := func(url string, version uint32) []sgroot.Service {
		if url == "" {
			return nil
		}
		return []sgroot.Service{{URL: url, MajorAPIVersion: version, ValidityPeriodStart: time.Now().Add(-time.Hour), Operator: "sandbox"}}
	}
	one := sgroot.ServiceConfiguration{Selector: prototrustroot.ServiceSelector_ANY}
	return must.Get(sgroot.NewSigningConfig(sgroot.SigningConfigMediaType02, service(world.FulcioURL, 1), nil,
		service(rekorURL, version), one, service(timestampURL, 1), one))(t)
}

// TestVerifyCosignSignBlob: polex-verify --bundle accepts a file that cosign's sign-blob --bundle
// signed with a signing configuration, and rejects every other file.
func TestVerifyCosignSignBlob(t *testing.T) {
	token := must.Get(world.Token(sandbox.Identity{}, "sigstore"))(t)
	pair := must.Get(sgsign.NewEphemeralKeypair(nil))(t)
	public := must.Get(pair.GetPublicKeyPem())(t)
	team := trust.AuthorityConfig{Name: "team", Key: public}
	for _, tc := range []struct {
		name      string
		config    *sgroot.SigningConfig
		token     string
		authority trust.AuthorityConfig
		checked   []string
	}{
		{"keyless", signingConfig(t, world.RekorURL, 1, ""), token, workflow(), []string{"certificate-chain", "sct", "signed-entry-timestamp", "inclusion-proof"}},
		{"keyless, with a timestamp", signingConfig(t, world.RekorURL, 1, world.TimestampURL), token, workflow(),
			[]string{"certificate-chain", "sct", "timestamp", "signed-entry-timestamp", "inclusion-proof"}},
		{"keyless, Rekor's version 2", signingConfig(t, world.RekorV2URL, 2, world.TimestampURL), token, workflow(),
			[]string{"certificate-chain", "sct", "timestamp", "inclusion-proof"}},
		{"a key", signingConfig(t, world.RekorURL, 1, ""), "", team, []string{"public-key", "signed-entry-timestamp", "inclusion-proof"}},
		{"a key, Rekor's version 2", signingConfig(t, world.RekorV2URL, 2, world.TimestampURL), "", team, []string{"public-key", "timestamp", "inclusion-proof"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bundle, err := cosignbundle.SignData(t.Context(), &sgsign.PlainData{Data: []byte(blob)}, pair, tc.token, tc.config, world.root.Material())
			must.That(t, err == nil, "cosign: %v", err)
			v := verifier(t, tc.authority)
			verified := must.Get(v.VerifyDetached([]byte(blob), bundle, time.Now()))(t)
			expect.Equal(t, "evidence", tc.checked, verified.Signatures()[0].Checked)
			if _, err := v.VerifyDetached([]byte(strings.Replace(blob, "comment", "remark", 1)), bundle, time.Now()); err == nil {
				t.Error("polex accepts another file")
			}
		})
	}
}

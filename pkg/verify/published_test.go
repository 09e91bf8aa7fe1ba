package verify_test

import (
	"bytes"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	sgbundle "github.com/sigstore/sigstore-go/pkg/bundle"
	sgroot "github.com/sigstore/sigstore-go/pkg/root"
	sgverify "github.com/sigstore/sigstore-go/pkg/verify"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"github.com/sigstore/sigstore/pkg/signature"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/trust/publicgood"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/modcache"
)

// publishedBundle is a Sigstore bundle from another project, with the data for its verification.
type publishedBundle struct {
	module, file string
	root         string // within the module; "" for the public-good root
	key          string // within the module, for a bundle without a certificate
	artifact     string // the signed data; "" if only the digest is published
	digest       string // SHA-256 in hex; neither for an envelope, which contains the signed data
	theirs       bool   // sigstore-go accepts it
	ours         string
	why          string // the cause, if sigstore-go accepts it and polex does not
}

// badRoot means that the root cannot be used in a trust policy.
const badRoot string = "no trust policy takes this root"

// The causes for which polex rejects bundles that sigstore-go accepts. docs/explanation/interop.md
// has the same list.
const (
	inEnvelope  = "it signs an envelope; polex requires a signature over the message itself"
	olderBundle = "it has version 0.2; polex reads version 0.3 and cosign's form"
	otherName   = "its certificate names neither a URI nor a mail address"
	stampedKey  = "its root has a timestamp authority but no log, and polex requires a log entry for a key"
)

const (
	goData      = "pkg/testing/data/"
	helloFile   = "gen/pb-rust/sigstore-protobuf-specs/assets/a.txt"
	helloBundle = helloFile + ".sigstore"
)

var publishedBundles = []publishedBundle{
	{module: modcache.SigstoreGo, file: goData + "bundles/dsse.sigstore.json", theirs: true, ours: verify.ReasonMalformedSignature, why: inEnvelope},
	{module: modcache.SigstoreGo, file: goData + "bundles/dsse-2sigs.sigstore.json", ours: verify.ReasonMalformedSignature},
	{module: modcache.SigstoreGo, file: goData + "bundles/sigstore.js@2.0.0-provenance.sigstore.json", theirs: true, ours: verify.ReasonMalformedSignature, why: inEnvelope},
	{module: modcache.SigstoreGo, file: "examples/bundle-provenance.json", theirs: true, ours: verify.ReasonMalformedSignature, why: inEnvelope},
	{module: modcache.SigstoreGo, file: "examples/bundle-publish.json", key: "examples/publish_key.pub", theirs: true, ours: verify.ReasonUnknownKey, why: inEnvelope},
	{module: modcache.SigstoreGo, file: goData + "bundles/othername.sigstore.json", root: goData + "trusted-roots/scaffolding.json",
		digest: "bc103b4a84971ef6459b294a2b98568a2bfb72cded09d4acd1e16366a401f95b", theirs: true, ours: verify.ReasonBadCertificate, why: otherName},
	{module: modcache.SigstoreGo, file: goData + "bundles/public-key-validity.sigstore.json", root: goData + "trusted-roots/public-key-validity.json",
		key: goData + "public-keys/public-key-validity.pem", artifact: "test content", theirs: true, ours: badRoot, why: stampedKey},
	{module: modcache.ProtobufSpecs, file: helloBundle, artifact: helloText, theirs: true, ours: verify.ReasonMalformedSignature, why: olderBundle},
}

const helloText = "DO NOT MODIFY ME!\n\nthis is \"a.txt\", a sample input for sigstore-protobuf-specs' test suite.\n\nDO NOT MODIFY ME!\n"

// TestPublishedBundles verifies the published bundles of Sigstore's own projects with the same
// roots. polex rejects every bundle that sigstore-go rejects. It accepts every bundle that
// sigstore-go accepts, except those with a cause in the table. docs/explanation/interop.md has the
// table.
func TestPublishedBundles(t *testing.T) {
	page := expect.Value(os.ReadFile(filepath.Join("..", "..", "docs", "explanation", "interop.md")))(t)
	for _, p := range publishedBundles {
		t.Run(filepath.Base(p.file), func(t *testing.T) {
			raw := modcache.Read(t, p.module, p.file)
			theirs := sigstoreGoSays(t, p, raw)
			if (theirs == nil) != p.theirs {
				t.Errorf("sigstore-go says %v, want acceptance: %t", theirs, p.theirs)
			}
			expect.Is(t, "polex", p.ours, polexSays(t, p, raw))
			switch stricter := p.theirs && p.ours != ""; {
			case !p.theirs && p.ours == "":
				t.Error("polex accepts what sigstore-go refuses")
			case stricter != (p.why != ""):
				t.Errorf("polex is stricter: %t, and the table says why: %t", stricter, p.why != "")
			case stricter && !strings.Contains(string(page), p.why):
				t.Errorf("docs/explanation/interop.md does not say: %s", p.why)
			}
		})
	}
	everyBundleIsOneOf(t, publishedBundles)
}

// everyBundleIsOneOf fails for a bundle in the modules that is not in the table.
func everyBundleIsOneOf(t *testing.T, known []publishedBundle) {
	t.Helper()
	for _, module := range []string{modcache.SigstoreGo, modcache.ProtobufSpecs} {
		dir := modcache.Dir(t, module)
		expect.OK(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !slices.Contains([]string{".json", ".sigstore"}, filepath.Ext(path)) {
				return err
			}
			raw, err := os.ReadFile(path)
			if err != nil || protojson.Unmarshal(raw, new(protobundle.Bundle)) != nil {
				return err
			}
			file, err := filepath.Rel(dir, path)
			if err == nil && !slices.ContainsFunc(known, func(p publishedBundle) bool { return p.module == module && p.file == filepath.ToSlash(file) }) {
				t.Errorf("%s of %s is a bundle, and nothing is known of it", file, module)
			}
			return err
		}))
	}
}

func (p publishedBundle) rootJSON(t *testing.T) []byte {
	t.Helper()
	if p.root == "" {
		return publicgood.TrustedRootJSON()
	}
	return modcache.Read(t, p.module, p.root)
}

// sigstoreGoSays verifies a bundle with all evidence that the root can prove.
func sigstoreGoSays(t *testing.T, p publishedBundle, raw []byte) error {
	t.Helper()
	root := expect.Value(sgroot.NewTrustedRootFromJSON(p.rootJSON(t)))(t)
	var material sgroot.TrustedMaterial = root
	options := []sgverify.VerifierOption{sgverify.WithObserverTimestamps(1)}
	if len(root.RekorLogs()) > 0 {
		options = append(options, sgverify.WithTransparencyLog(1))
	}
	if p.key != "" {
		material = withKey(t, root, modcache.Read(t, p.module, p.key))
	} else if len(root.CTLogs()) > 0 {
		options = append(options, sgverify.WithSignedCertificateTimestamps(1))
	}
	v := expect.Value(sgverify.NewVerifier(material, options...))(t)
	b := new(sgbundle.Bundle)
	if err := b.UnmarshalJSON(raw); err != nil {
		return err
	}
	artifact := sgverify.WithoutArtifactUnsafe()
	if p.artifact != "" {
		artifact = sgverify.WithArtifact(strings.NewReader(p.artifact))
	} else if p.digest != "" {
		digest := expect.Value(hex.DecodeString(p.digest))(t)
		artifact = sgverify.WithArtifactDigest("sha256", digest)
	}
	_, err := v.Verify(b, sgverify.NewPolicy(artifact, sgverify.WithoutIdentitiesUnsafe()))
	return err
}

// keyBeside is a root with one further key.
type keyBeside struct {
	sgroot.TrustedMaterial
	key *sgroot.ExpiringKey
}

func (k keyBeside) PublicKeyVerifier(string) (sgroot.TimeConstrainedVerifier, error) {
	return k.key, nil
}

func withKey(t *testing.T, root sgroot.TrustedMaterial, raw []byte) sgroot.TrustedMaterial {
	t.Helper()
	key := expect.Value(cryptoutils.UnmarshalPEMToPublicKey(raw))(t)
	v := expect.Value(signature.LoadDefaultVerifier(key))(t)
	return keyBeside{root, sgroot.NewExpiringKey(v, time.Time{}, time.Time{})}
}

// polexSays puts a bundle into the annotations, and returns the reason of the evidence's rejection,
// or "".
func polexSays(t *testing.T, p publishedBundle, raw []byte) string {
	t.Helper()
	b := new(protobundle.Bundle)
	_ = protojson.Unmarshal(raw, b) // the other annotations of an unreadable one are empty
	return evidenceSays(t, p, seal.Signature{Signature: publishedSignature(b), Certificate: publishedCertificate(b), BundleV03: raw})
}

func evidenceSays(t *testing.T, p publishedBundle, s seal.Signature) string {
	t.Helper()
	root, err := trust.ParseRoot(p.rootJSON(t), "published")
	if err != nil {
		return badRoot
	}
	authority := trust.AuthorityConfig{Name: "published", Issuer: "https://example.com", Subject: "someone@example.com"}
	if p.key != "" {
		authority = trust.AuthorityConfig{Name: "published", Key: string(modcache.Read(t, p.module, p.key))}
	}
	policy := expect.Value(trust.New(trust.Config{Authorities: []trust.AuthorityConfig{authority}}, root))(t)
	v := expect.Value(verify.New(policy))(t)
	_, err = v.Evidence([]byte(p.artifact), s)
	return reasonIn(t, err)
}

func publishedCertificate(b *protobundle.Bundle) []byte {
	material := b.GetVerificationMaterial()
	if chain := material.GetX509CertificateChain().GetCertificates(); len(chain) > 0 {
		return chain[0].GetRawBytes()
	}
	return material.GetCertificate().GetRawBytes()
}

func publishedSignature(b *protobundle.Bundle) []byte {
	if signed := b.GetDsseEnvelope().GetSignatures(); len(signed) > 0 {
		return bytes.Clone(signed[0].GetSig())
	}
	return b.GetMessageSignature().GetSignature()
}

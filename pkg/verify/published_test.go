package verify_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
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
	"github.com/polex-dev/polex/test/must"
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

// The causes for which polex rejects bundles that sigstore-go accepts. docs/explanation/interop.md has the same list.
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

// TestPublishedBundles verifies the published bundles of Sigstore's own projects with the same roots. polex rejects
// every bundle that sigstore-go rejects. It accepts every bundle that sigstore-go accepts, except those with a cause in
// the table. docs/explanation/interop.md has the table.
func TestPublishedBundles(t *testing.T) {
	page := must.Get(os.ReadFile(filepath.Join("..", "..", "docs", "explanation", "interop.md")))(t)
	for _, p := range publishedBundles {
		t.Run(filepath.Base(p.file), func(t *testing.T) {
			raw := modcache.Read(t, p.module, p.file)
			theirs := sigstoreGoSays(t, p, raw)
			expect.That(t, (theirs == nil) == p.theirs, "sigstore-go says %v, want acceptance: %t", theirs, p.theirs)
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
		must.Do(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
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
	root := must.Get(sgroot.NewTrustedRootFromJSON(p.rootJSON(t)))(t)
	var material sgroot.TrustedMaterial = root
	options := []sgverify.VerifierOption{sgverify.WithObserverTimestamps(1)}
	if len(root.RekorLogs()) > 0 {
		options = append(options, sgverify.WithTransparencyLog(1))
	}
	if p.key != "" {
		key := must.Get(cryptoutils.UnmarshalPEMToPublicKey(modcache.Read(t, p.module, p.key)))(t)
		anyHint := func(string) (sgroot.TimeConstrainedVerifier, error) {
			v, err := signature.LoadDefaultVerifier(key)
			return sgroot.NewExpiringKey(v, time.Time{}, time.Time{}), err
		}
		material = sgroot.TrustedMaterialCollection{root, sgroot.NewTrustedPublicKeyMaterial(anyHint)}
	} else if len(root.CTLogs()) > 0 {
		options = append(options, sgverify.WithSignedCertificateTimestamps(1))
	}
	v := must.Get(sgverify.NewVerifier(material, options...))(t)
	b := new(sgbundle.Bundle)
	if err := b.UnmarshalJSON(raw); err != nil {
		return err
	}
	artifact := sgverify.WithoutArtifactUnsafe()
	if p.artifact != "" {
		artifact = sgverify.WithArtifact(strings.NewReader(p.artifact))
	} else if p.digest != "" {
		digest := must.Get(hex.DecodeString(p.digest))(t)
		artifact = sgverify.WithArtifactDigest("sha256", digest)
	}
	_, err := v.Verify(b, sgverify.NewPolicy(artifact, sgverify.WithoutIdentitiesUnsafe()))
	return err
}

// polexSays puts a bundle into the annotations, and returns the reason of the evidence's rejection, or "".
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
	policy := must.Get(trust.New(trust.Config{Authorities: []trust.AuthorityConfig{authority}}, root))(t)
	v := must.Get(verify.New(policy))(t)
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

// hello is the published bundle of the public-good Sigstore for published data, converted to
// version 0.3. Its content is the same; the only certificate is a field instead of a chain.
func hello(t *testing.T) (publishedBundle, map[string]any) {
	t.Helper()
	p := publishedBundle{module: modcache.ProtobufSpecs, file: helloBundle, artifact: string(modcache.Read(t, modcache.ProtobufSpecs, helloFile))}
	tree := treeOf(modcache.Read(t, p.module, p.file))
	material := tree["verificationMaterial"].(map[string]any)
	material["certificate"] = material["x509CertificateChain"].(map[string]any)["certificates"].([]any)[0]
	delete(material, "x509CertificateChain")
	tree["mediaType"] = "application/vnd.dev.sigstore.bundle.v0.3+json"
	return p, tree
}

// TestPublishedEvidence: evidence from the public-good Sigstore is valid in both forms.
func TestPublishedEvidence(t *testing.T) {
	p, tree := hello(t)
	raw := must.Get(json.Marshal(tree))(t)
	b := readBundle(t, raw)
	e := entry(b)
	old := &seal.RekorBundle{SignedEntryTimestamp: e.GetInclusionPromise().GetSignedEntryTimestamp(), Payload: seal.RekorPayload{
		Body: base64.StdEncoding.EncodeToString(e.GetCanonicalizedBody()), IntegratedTime: e.GetIntegratedTime(), LogIndex: e.GetLogIndex(),
		LogID: hex.EncodeToString(e.GetLogId().GetKeyId())}}
	for name, s := range map[string]seal.Signature{"version 0.3": {BundleV03: raw}, "cosign's form": {Bundle: old}, "both": {BundleV03: raw, Bundle: old}} {
		s.Signature, s.Certificate = publishedSignature(b), publishedCertificate(b)
		expect.Is(t, fmt.Sprintf("%s: refused", name), "", evidenceSays(t, p, s))
	}
	err := sigstoreGoSays(t, p, raw)
	expect.That(t, err == nil, "sigstore-go: %v", err)
}

// kindBeside is the only value of a bundle for which polex is stricter than sigstore-go, which uses
// the kind in the entry.
var kindBeside = regexp.MustCompile(`\.tlogEntries\[0\]\.kindVersion\.(kind|version) (changed|removed)$`)

// TestPublishedLeaves changes and removes each value of a bundle. Both reject each change, except
// for the one value for which only polex does.
func TestPublishedLeaves(t *testing.T) {
	p, tree := hello(t)
	tried, stricter := 0, 0
	eachValue(tree, "", func(any) {}, func(what string) {
		raw := must.Get(json.Marshal(tree))(t)
		ours, theirs := polexSays(t, p, raw), sigstoreGoSays(t, p, raw)
		tried++
		switch {
		case ours == "":
			t.Errorf("%s: polex accepts it, and sigstore-go says %v", what, theirs)
		case theirs == nil && kindBeside.MatchString(what):
			stricter++
		case theirs == nil:
			t.Errorf("%s: polex refuses what sigstore-go accepts: %s", what, ours)
		}
	})
	expect.That(t, tried >= 50 && stricter != 0, "%d changes, and in %d of them polex is stricter", tried, stricter)
}

// eachValue calls try with each text below a value changed in place, and with each value removed, one at a time.
func eachValue(value any, path string, set func(any), try func(what string)) {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			child := value[key]
			eachValue(child, path+"."+key, func(v any) { value[key] = v }, try)
			delete(value, key)
			try(path + "." + key + " removed")
			value[key] = child
		}
	case []any:
		for i, child := range value {
			at := fmt.Sprintf("%s[%d]", path, i)
			eachValue(child, at, func(v any) { value[i] = v }, try)
			set(slices.Delete(slices.Clone(value), i, i+1))
			try(at + " removed")
			set(value)
		}
	case string:
		set(otherText(value))
		try(path + " changed")
		set(value)
	}
}

// otherText changes a text: a number by one, a byte in the middle of base64 data, or a letter.
func otherText(text string) string {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return strconv.FormatInt(n+1, 10)
	}
	if raw, err := base64.StdEncoding.DecodeString(text); err == nil && len(raw) > 4 {
		raw[len(raw)/2] ^= 1
		return base64.StdEncoding.EncodeToString(raw)
	}
	return text[:len(text)/2] + string(text[len(text)/2]^1) + text[len(text)/2+1:]
}

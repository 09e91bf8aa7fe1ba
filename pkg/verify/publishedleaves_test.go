package verify_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"testing"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/modcache"
)

// hello is the published bundle of the public-good Sigstore for published data, converted to
// version 0.3. Its content is the same; the only certificate is a field instead of a chain.
func hello(t *testing.T) (publishedBundle, map[string]any) {
	t.Helper()
	p := publishedBundle{module: modcache.ProtobufSpecs, file: helloBundle, artifact: string(modcache.Read(t, modcache.ProtobufSpecs, helloFile))}
	var tree map[string]any
	expect.OK(t, json.Unmarshal(modcache.Read(t, p.module, p.file), &tree))
	material := tree["verificationMaterial"].(map[string]any)
	material["certificate"] = material["x509CertificateChain"].(map[string]any)["certificates"].([]any)[0]
	delete(material, "x509CertificateChain")
	tree["mediaType"] = "application/vnd.dev.sigstore.bundle.v0.3+json"
	return p, tree
}

// TestPublishedEvidence: evidence from the public-good Sigstore is valid in both forms.
func TestPublishedEvidence(t *testing.T) {
	p, tree := hello(t)
	raw := encoded(t, tree)
	b := new(protobundle.Bundle)
	expect.OK(t, protojson.Unmarshal(raw, b))
	e := entry(b)
	old := &seal.RekorBundle{SignedEntryTimestamp: e.GetInclusionPromise().GetSignedEntryTimestamp(), Payload: seal.RekorPayload{
		Body: base64.StdEncoding.EncodeToString(e.GetCanonicalizedBody()), IntegratedTime: e.GetIntegratedTime(), LogIndex: e.GetLogIndex(),
		LogID: hex.EncodeToString(e.GetLogId().GetKeyId())}}
	for name, s := range map[string]seal.Signature{"version 0.3": {BundleV03: raw}, "cosign's form": {Bundle: old}, "both": {BundleV03: raw, Bundle: old}} {
		s.Signature, s.Certificate = publishedSignature(b), publishedCertificate(b)
		expect.Is(t, fmt.Sprintf("%s: refused", name), "", evidenceSays(t, p, s))
	}
	if err := sigstoreGoSays(t, p, raw); err != nil {
		t.Errorf("sigstore-go: %v", err)
	}
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
		raw := encoded(t, tree)
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
	if tried < 50 || stricter == 0 {
		t.Errorf("%d changes, and in %d of them polex is stricter", tried, stricter)
	}
}

// eachValue calls try with each text below a value changed in place, and with each value removed,
// one at a time.
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

func encoded(t *testing.T, tree map[string]any) []byte {
	t.Helper()
	return expect.Value(json.Marshal(tree))(t)
}

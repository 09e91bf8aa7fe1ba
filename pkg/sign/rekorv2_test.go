package sign_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/sign"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/test/expect"
)

const (
	uploadV2Request  = "rekor-v2 POST /api/v2/log/entries"
	timestampRequest = "timestamp POST"
)

// configV2 has the sandbox's Rekor v2 log and its timestamp authority.
func (f *fixture) configV2() sign.Config {
	return sign.Config{RekorURL: f.RekorV2URL, RekorVersion: 2, TimestampURL: f.TimestampURL, Root: f.root, Timing: sign.Timing{Sleep: f.rest.sleep}}
}

// servicesV2 returns the Rekor v2 logs of the tests: the sandbox's and, if POLEX_TEST_REKOR_V2_URL
// and POLEX_TEST_REKOR_V2_KEY (the path of a public key in PEM) are set, another one with the
// sandbox's other services.
func servicesV2(t *testing.T, f *fixture) map[string]sign.Config {
	t.Helper()
	services := map[string]sign.Config{"sandbox": f.configV2()}
	if address := os.Getenv("POLEX_TEST_REKOR_V2_URL"); address != "" {
		named := f.configV2()
		named.RekorURL, named.Root = address, f.rootWithLog(t, address, os.Getenv("POLEX_TEST_REKOR_V2_KEY"))
		services["named"] = named
	}
	return services
}

// rootWithLog returns the sandbox's trusted root with one other log, with its public key in a PEM
// file.
func (f *fixture) rootWithLog(t *testing.T, address, keyFile string) *trust.Root {
	t.Helper()
	keyPEM, err := os.ReadFile(keyFile)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(keyPEM)
	if block == nil {
		t.Fatalf("%s is no PEM", keyFile)
	}
	id := sha256.Sum256(block.Bytes)
	raw := expect.Value(os.ReadFile(f.TrustedRootPath))(t)
	var tree map[string]any
	expect.OK(t, json.Unmarshal(raw, &tree))
	log := tree["tlogs"].([]any)[0].(map[string]any)
	log["baseUrl"], log["logId"] = address, map[string]any{"keyId": base64.StdEncoding.EncodeToString(id[:])}
	log["publicKey"].(map[string]any)["rawBytes"] = base64.StdEncoding.EncodeToString(block.Bytes)
	tree["tlogs"] = []any{log}
	if raw, err = json.Marshal(tree); err != nil {
		t.Fatal(err)
	}
	return expect.Value(trust.ParseRoot(raw, "with the named log"))(t)
}

// A batch with Rekor v2: there is no request to Rekor v1, and the signature has the only possible
// form of evidence.
func TestSealV2(t *testing.T) {
	f := start(t)
	for name, config := range servicesV2(t, f) {
		t.Run(name, func(t *testing.T) {
			docs := batch(t, 20)
			stampsBefore := f.wire.count(timestampRequest)
			sealed := expect.Value(f.keyless(t, config).Seal(t.Context(), docs, time.Now()))(t)
			policy := f.policyUnder(t, config.Root)
			for i, opened := range mustVerify(t, policy, sealed) {
				got := opened.Signatures()[0]
				if diff := cmp.Diff([]string{"certificate-chain", "sct", "timestamp", "inclusion-proof"}, got.Checked); diff != "" {
					t.Errorf("evidence (-want +got):\n%s", diff)
				}
				if got.LogURL != config.RekorURL || got.WitnessedAt.IsZero() {
					t.Errorf("evidence %+v, want the log %s and a time", got, config.RekorURL)
				}
				s := expect.Value(seal.Read(sealed[i]))(t)
				if s.Signatures[0].Bundle != nil || s.Signatures[0].BundleV03 == nil {
					t.Error("the seal has a Rekor bundle, or no Sigstore bundle")
				}
			}
			if n := f.wire.count("rekor "); n != 0 {
				t.Errorf("%d requests to the log of version 1", n)
			}
			if n := f.wire.count(timestampRequest) - stampsBefore; n != len(docs) {
				t.Errorf("%d timestamps for %d documents", n, len(docs))
			}
		})
	}
}

// policyUnder returns the policy of the sandbox's workflow with another root.
func (f *fixture) policyUnder(t *testing.T, root *trust.Root) *trust.Policy {
	t.Helper()
	p, err := trust.New(trust.Config{Authorities: []trust.AuthorityConfig{{Name: "workflow", Issuer: f.IssuerURL, Subject: sandbox.Identity{}.Subject()}}}, root)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestWithKeyV2(t *testing.T) {
	f := shared(t)
	keys := generated(t)
	s := expect.Value(sign.WithKey(f.configV2(), keys.PrivateBytes, []byte(keyPassword)))(t)
	sealed := expect.Value(s.Seal(t.Context(), batch(t, 3), time.Now()))(t)
	policy := expect.Value(trust.New(
		trust.Config{Authorities: []trust.AuthorityConfig{{Name: "team", Key: string(keys.PublicBytes)}}}, f.root))(t)
	for _, opened := range mustVerify(t, policy, sealed) {
		if diff := cmp.Diff([]string{"public-key", "timestamp", "inclusion-proof"}, opened.Signatures()[0].Checked); diff != "" {
			t.Errorf("evidence (-want +got):\n%s", diff)
		}
	}
}

// A timestamp authority can also be used with Rekor v1.
func TestSealWithTimestamp(t *testing.T) {
	f := shared(t)
	config := f.config()
	config.TimestampURL = f.TimestampURL
	sealed := expect.Value(f.keyless(t, config).Seal(t.Context(), batch(t, 2), time.Now()))(t)
	want := []string{"certificate-chain", "sct", "timestamp", "signed-entry-timestamp", "inclusion-proof"}
	for _, opened := range mustVerify(t, f.policy(t), sealed) {
		expect.Equal(t, "evidence", want, opened.Signatures()[0].Checked)
	}
}

// An invalid configuration is rejected before a token is used.
func TestConfigRefuses(t *testing.T) {
	f := start(t)
	for _, tc := range []struct {
		name string
		bend func(*sign.Config)
		want string
	}{
		{"an unknown version", func(c *sign.Config) { c.RekorVersion = 3 }, "version 3 of Rekor is not 1 or 2"},
		{"version 2 without an address", func(c *sign.Config) { c.RekorURL = "" }, "requires the address of the log"},
		{"version 2 in cosign's form", func(c *sign.Config) { c.BundleFormat = sign.BundleCosign }, "cosign's bundle can hold neither"},
		{"a timestamp in cosign's form", func(c *sign.Config) {
			c.RekorVersion, c.RekorURL, c.BundleFormat = 1, f.RekorURL, sign.BundleCosign
		}, "nor a timestamp"},
		{"an unknown form", func(c *sign.Config) { c.BundleFormat = "tar" }, "bundle format \"tar\" is not"},
		{"version 2 without a timestamp authority", func(c *sign.Config) { c.TimestampURL = "" }, "requires a timestamp authority"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			config := f.configV2()
			tc.bend(&config)
			s, err := sign.Keyless(t.Context(), config, f.FulcioURL, f.token(t, sandbox.Identity{}), time.Now())
			if s != nil || err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Keyless: %v, %v, want an error with %q", s, err, tc.want)
			}
		})
	}
	expect.Is(t, "certificates", 0, f.wire.count(certificateRequest))
}

// An older entry by another identity for the same message does no harm.
func TestSealV2PoisonedLog(t *testing.T) {
	f := start(t)
	now := time.Now()
	doc := batch(t, 1)[0]
	mallory := expect.Value(sign.Keyless(
		t.Context(), f.configV2(), f.FulcioURL, f.token(t, sandbox.Identity{Repository: "mallory/fork"}), now))(t)
	expect.Value(mallory.Seal(t.Context(), []*exception.Document{doc}, now))(t)
	sealed := expect.Value(f.keyless(t, f.configV2()).Seal(t.Context(), []*exception.Document{doc}, now))(t)
	if got := mustVerify(t, f.policy(t), sealed)[0].Signatures()[0].LogIndex; got != 1 {
		t.Errorf("log index %d, want that of its own upload, 1", got)
	}
}

package sign_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/sign"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// somebodyElses logs the messages with another identity before they are signed.
func (f *fixture) somebodyElses(t *testing.T, config sign.Config, docs []*exception.Document, now time.Time) []*exception.Document {
	t.Helper()
	token := f.token(t, sandbox.Identity{Repository: "mallory/fork"})
	mallory := must.Get(sign.Keyless(t.Context(), config, f.FulcioURL, token, now))(t)
	return must.Get(mallory.Seal(t.Context(), docs, now))(t)
}

// Attack 97: another identity has logged the same message before. The signature must have the entry of its own upload.
func TestSealPoisonedLog(t *testing.T) {
	for server, config := range map[string]func(*fixture) sign.Config{"version 1": (*fixture).config, "version 2": (*fixture).configV2} {
		f := start(t)
		now, docs := time.Now(), batch(t, 1)
		f.somebodyElses(t, config(f), docs, now)
		sealed := must.Get(f.keyless(t, config(f)).Seal(t.Context(), docs, now))(t)
		opened := mustVerify(t, f.policy(t), sealed)
		expect.Is(t, server+": log index of its own upload", 1, opened[0].Signatures()[0].LogIndex)
		expect.Is(t, server+": searches in the log's index", 0, f.wire.count(searchRequest))
		expect.Is(t, server+": entries fetched", 0, f.wire.count("rekor GET"))
	}
}

// everywhere runs a test of server faults with the sandbox, in a subtest with the name, if it has one. If POLEX_TEST_SIGSTORE
// names a file with a real Sigstore (one variable a line, as in test/cli), it runs it with that too. Proxies on loopback are
// between the signer and the servers.
func everywhere(t *testing.T, name string, test func(t *testing.T, f *fixture)) {
	t.Helper()
	if name != "" {
		t.Run(name, func(t *testing.T) { everywhere(t, "", test) })
		return
	}
	t.Run("sandbox", func(t *testing.T) { test(t, proxied(t, undisturbed.Sandbox)) })
	named := os.Getenv("POLEX_TEST_SIGSTORE")
	if named == "" {
		return
	}
	raw := must.Get(os.ReadFile(named))(t)
	at := map[string]string{}
	for line := range strings.Lines(string(raw)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		at[name] = value
	}
	real := &sandbox.Sandbox{Dir: at["POLEX_SANDBOX"], TrustedRootPath: at["ROOT"], FulcioURL: at["FULCIO"], RekorURL: at["REKOR"],
		RekorV2URL: at["REKOR_V2"], TimestampURL: at["TIMESTAMP"], IssuerURL: at["ISSUER"],
		TokenRequestURL: at["TOKEN_REQUEST_URL"], TokenRequestToken: at["TOKEN_REQUEST_TOKEN"]}
	t.Run("named", func(t *testing.T) { test(t, proxied(t, real)) })
}

// proxied puts a proxy in front of each server of a Sigstore.
func proxied(t *testing.T, s *sandbox.Sandbox) *fixture {
	t.Helper()
	f := &fixture{wire: &wire{}, rest: &rest{}}
	front := func(server, address string) string {
		target, err := url.Parse(address)
		must.That(t, err == nil && target.Host != "", "the address %q of %s: %v", address, server, err)
		path := strings.TrimPrefix(address, target.Scheme+"://"+target.Host)
		proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: target.Scheme, Host: target.Host})
		proxy.ErrorLog = log.New(io.Discard, "", 0) // tests close connections
		web := httptest.NewServer(f.wire.intercept(server, proxy))
		t.Cleanup(web.Close)
		return web.URL + path
	}
	f.Sandbox = &sandbox.Sandbox{Dir: s.Dir, TrustedRootPath: s.TrustedRootPath, IssuerURL: s.IssuerURL, TokenRequestToken: s.TokenRequestToken,
		FulcioURL: front(sandbox.ServerFulcio, s.FulcioURL), RekorURL: front(sandbox.ServerRekor, s.RekorURL),
		RekorV2URL: front(sandbox.ServerRekorV2, s.RekorV2URL), TimestampURL: front(sandbox.ServerTimestamp, s.TimestampURL),
		TokenRequestURL: front(sandbox.ServerIssuer, s.TokenRequestURL)}
	f.root = must.Get(trust.LoadRoot(f.TrustedRootPath))(t)
	return f
}

// TestStatesTime: the signature of a key states its signing time, from which the trust policy's maximum lifetime
// counts. A certificate with a validity of minutes binds the time itself, and nothing is added.
func TestStatesTime(t *testing.T) {
	f := shared(t)
	keys := generated(t)
	now := time.Now()
	byKey := must.Get(sign.WithKey(f.config(), keys.PrivateBytes, []byte(keyPassword)))(t)
	policy := must.Get(trust.New(trust.Config{MaxLifetime: "90d", Kinds: []string{"*"},
		Authorities: []trust.AuthorityConfig{{Name: "team", Key: string(keys.PublicBytes)}}}, f.root))(t)
	sealed := must.Get(byKey.Seal(t.Context(), batch(t, 2), now))(t)
	for _, opened := range mustVerify(t, policy, sealed) {
		got := opened.Message().Annotation(exception.AnnotationSignedAt)
		expect.Is(t, "stated time", now.UTC().Format(time.RFC3339), got)
	}
	token := f.token(t, sandbox.Identity{})
	keyless := must.Get(sign.Keyless(t.Context(), f.config(), f.FulcioURL, token, now))(t)
	sealed = must.Get(keyless.Seal(t.Context(), batch(t, 1), now))(t)
	expect.Is(t, "beside a certificate of minutes it states", "", sealed[0].Annotation(exception.AnnotationSignedAt))
}

const (
	uploadV2Request  = "rekor-v2 POST /api/v2/log/entries"
	timestampRequest = "timestamp POST"
)

// configV2 has the sandbox's Rekor v2 log and its timestamp authority.
func (f *fixture) configV2() sign.Config {
	return sign.Config{RekorURL: f.RekorV2URL, RekorVersion: 2, TimestampURL: f.TimestampURL, Root: f.root, Timing: sign.Timing{Sleep: f.rest.sleep}}
}

// servicesV2 returns the Rekor v2 logs of the tests: the sandbox's and, if POLEX_TEST_REKOR_V2_URL and
// POLEX_TEST_REKOR_V2_KEY (the path of a public key in PEM) are set, another one with the sandbox's other services.
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

// rootWithLog returns the sandbox's trusted root with one other log, with its public key in a PEM file.
func (f *fixture) rootWithLog(t *testing.T, address, keyFile string) *trust.Root {
	t.Helper()
	block, _ := pem.Decode(must.Get(os.ReadFile(keyFile))(t))
	must.That(t, block != nil, "%s is no PEM", keyFile)
	id := sha256.Sum256(block.Bytes)
	raw := must.Get(os.ReadFile(f.TrustedRootPath))(t)
	var tree map[string]any
	must.Do(t, json.Unmarshal(raw, &tree))
	log := tree["tlogs"].([]any)[0].(map[string]any)
	log["baseUrl"], log["logId"] = address, map[string]any{"keyId": base64.StdEncoding.EncodeToString(id[:])}
	log["publicKey"].(map[string]any)["rawBytes"] = base64.StdEncoding.EncodeToString(block.Bytes)
	tree["tlogs"] = []any{log}
	return must.Get(trust.ParseRoot(must.Get(json.Marshal(tree))(t), "with the named log"))(t)
}

// A batch with Rekor v2: there is no request to Rekor v1, and the signature has the only possible form of evidence.
func TestSealV2(t *testing.T) {
	f := start(t)
	for name, config := range servicesV2(t, f) {
		t.Run(name, func(t *testing.T) {
			docs := batch(t, 20)
			stampsBefore := f.wire.count(timestampRequest)
			sealed := must.Get(f.keyless(t, config).Seal(t.Context(), docs, time.Now()))(t)
			policy := f.policyUnder(t, config.Root)
			for i, opened := range mustVerify(t, policy, sealed) {
				got := opened.Signatures()[0]
				want := []string{"certificate-chain", "sct", "timestamp", "inclusion-proof"}
				expect.Equal(t, "evidence", want, got.Checked)
				expect.That(t, got.LogURL == config.RekorURL && !got.WitnessedAt.IsZero(),
					"evidence %+v, want the log %s and a time", got, config.RekorURL)
				s := must.Get(seal.Read(sealed[i]))(t)
				expect.That(t, s.Signatures[0].Bundle == nil && s.Signatures[0].BundleV03 != nil,
					"the seal has a Rekor bundle, or no Sigstore bundle")
			}
			expect.Is(t, "requests to the log of version 1", 0, f.wire.count("rekor "))
			expect.Is(t, "timestamps", len(docs), f.wire.count(timestampRequest)-stampsBefore)
		})
	}
}

// policyUnder returns the policy of the sandbox's workflow with another root.
func (f *fixture) policyUnder(t *testing.T, root *trust.Root) *trust.Policy {
	t.Helper()
	workflow := trust.AuthorityConfig{Name: "workflow", Issuer: f.IssuerURL, Subject: sandbox.Identity{}.Subject()}
	return must.Get(trust.New(trust.Config{Authorities: []trust.AuthorityConfig{workflow}}, root))(t)
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
			token := f.token(t, sandbox.Identity{})
			expect.Failure(sign.Keyless(t.Context(), config, f.FulcioURL, token, time.Now()))(t, tc.want)
		})
	}
	expect.Is(t, "certificates", 0, f.wire.count(certificateRequest))
	config, token := sign.Config{RekorURL: f.RekorURL}, f.token(t, sandbox.Identity{})
	expect.Failure(sign.Keyless(t.Context(), config, f.FulcioURL, token, time.Now()))(t, "no trusted root")
}

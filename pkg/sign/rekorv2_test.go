package sign_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/sign"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
)

const (
	uploadV2Request  = "rekor-v2 POST /api/v2/log/entries"
	timestampRequest = "timestamp POST"
)

// configV2 is the sandbox's log of version 2, and its timestamp authority.
func (f *fixture) configV2() sign.Config {
	return sign.Config{RekorURL: f.RekorV2URL, RekorVersion: 2, TimestampURL: f.TimestampURL, Root: f.root}
}

// servicesV2 are the logs of version 2 that are signed with: the sandbox's and,
// where POLEX_TEST_REKOR_V2_URL and POLEX_TEST_REKOR_V2_KEY (the path of a public
// key in PEM) name one, another beside the sandbox's other services.
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

// rootWithLog is the sandbox's trusted root with one log, whose public key lies
// in a PEM file, instead of its own.
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
	raw, err := os.ReadFile(f.TrustedRootPath)
	if err != nil {
		t.Fatal(err)
	}
	var tree map[string]any
	if err := json.Unmarshal(raw, &tree); err != nil {
		t.Fatal(err)
	}
	log := tree["tlogs"].([]any)[0].(map[string]any)
	log["baseUrl"], log["logId"] = address, map[string]any{"keyId": base64.StdEncoding.EncodeToString(id[:])}
	log["publicKey"].(map[string]any)["rawBytes"] = base64.StdEncoding.EncodeToString(block.Bytes)
	tree["tlogs"] = []any{log}
	if raw, err = json.Marshal(tree); err != nil {
		t.Fatal(err)
	}
	root, err := trust.ParseRoot(raw, "with the named log")
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// A batch under version 2: nothing of version 1 is asked, and the seal has the
// one form of evidence that there is.
func TestSealV2(t *testing.T) {
	f := start(t)
	for name, config := range servicesV2(t, f) {
		t.Run(name, func(t *testing.T) {
			docs := batch(t, 20)
			stampsBefore := f.wire.count(timestampRequest)
			sealed, err := f.keyless(t, config).Seal(t.Context(), docs, time.Now())
			if err != nil {
				t.Fatalf("Seal: %v", err)
			}
			policy := f.policyUnder(t, config.Root)
			for i, opened := range mustVerify(t, policy, sealed) {
				got := opened.Signatures()[0]
				if diff := cmp.Diff([]string{"certificate-chain", "sct", "timestamp", "inclusion-proof"}, got.Checked); diff != "" {
					t.Errorf("evidence (-want +got):\n%s", diff)
				}
				if got.LogURL != config.RekorURL || got.WitnessedAt.IsZero() {
					t.Errorf("evidence %+v, want the log %s and a time", got, config.RekorURL)
				}
				s, err := seal.Read(sealed[i])
				if err != nil {
					t.Fatal(err)
				}
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

// policyUnder is the policy of the sandbox's workflow under another root.
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
	s, err := sign.WithKey(f.configV2(), keys.PrivateBytes, []byte(keyPassword))
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := s.Seal(t.Context(), batch(t, 3), time.Now())
	if err != nil {
		t.Fatalf("Seal: %v", err)
	}
	policy, err := trust.New(trust.Config{Authorities: []trust.AuthorityConfig{{Name: "team", Key: string(keys.PublicBytes)}}}, f.root)
	if err != nil {
		t.Fatal(err)
	}
	for _, opened := range mustVerify(t, policy, sealed) {
		if diff := cmp.Diff([]string{"public-key", "timestamp", "inclusion-proof"}, opened.Signatures()[0].Checked); diff != "" {
			t.Errorf("evidence (-want +got):\n%s", diff)
		}
	}
}

// A timestamp authority may stand beside a log of version 1 as well.
func TestSealWithTimestamp(t *testing.T) {
	f := shared(t)
	config := f.config()
	config.TimestampURL = f.TimestampURL
	sealed, err := f.keyless(t, config).Seal(t.Context(), batch(t, 2), time.Now())
	if err != nil {
		t.Fatalf("Seal: %v", err)
	}
	want := []string{"certificate-chain", "sct", "timestamp", "signed-entry-timestamp", "inclusion-proof"}
	for _, opened := range mustVerify(t, f.policy(t), sealed) {
		if diff := cmp.Diff(want, opened.Signatures()[0].Checked); diff != "" {
			t.Errorf("evidence (-want +got):\n%s", diff)
		}
	}
}

// What no log would serve is refused before a token is spent.
func TestConfigRefuses(t *testing.T) {
	f := start(t)
	for _, tc := range []struct {
		name string
		bend func(*sign.Config)
		want string
	}{
		{"an unknown version", func(c *sign.Config) { c.RekorVersion = 3 }, "no version 3"},
		{"version 2 without an address", func(c *sign.Config) { c.RekorURL = "" }, "no address"},
		{"version 2 in cosign's form", func(c *sign.Config) { c.BundleFormat = sign.BundleCosign }, "no form in cosign's"},
		{"a timestamp in cosign's form", func(c *sign.Config) {
			c.RekorVersion, c.RekorURL, c.BundleFormat = 1, f.RekorURL, sign.BundleCosign
		}, "holds no timestamp"},
		{"an unknown form", func(c *sign.Config) { c.BundleFormat = "tar" }, "no bundle format"},
		{"version 2 without a timestamp authority", func(c *sign.Config) { c.TimestampURL = "" }, "no timestamp authority"},
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
	if n := f.wire.count(certificateRequest); n != 0 {
		t.Errorf("%d certificates were asked for", n)
	}
}

// onEntryV2 changes the entry that a log of version 2 answers with.
func onEntryV2(edit func(entry map[string]any)) func(*testing.T, *fixture) hook {
	return rewrite(func(body []byte) []byte {
		var entry map[string]any
		if json.Unmarshal(body, &entry) != nil {
			return body
		}
		edit(entry)
		changed, _ := json.Marshal(entry)
		return changed
	})
}

// anotherEntry answers with a true entry of somebody else.
func anotherEntry(t *testing.T, f *fixture) hook {
	logged, err := f.ForgeEntryV2(t.Context(), []byte(`{"kind":"hashedrekord","apiVersion":"0.0.2","spec":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	return onEntryV2(func(entry map[string]any) {
		entry["logIndex"] = fmt.Sprint(logged.GetLogIndex())
		entry["canonicalizedBody"] = base64.StdEncoding.EncodeToString(logged.GetCanonicalizedBody())
	})(t, f)
}

// Whatever a log of version 2 or a timestamp authority answers, what does not
// verify is not handed out.
func TestSealV2Fails(t *testing.T) {
	inProof := func(edit func(proof map[string]any)) func(*testing.T, *fixture) hook {
		return onEntryV2(func(entry map[string]any) { edit(entry["inclusionProof"].(map[string]any)) })
	}
	strangersStamp := func(*testing.T, *fixture) hook {
		return func(_ string, _ http.Handler, w http.ResponseWriter, _ *http.Request) {
			response, err := undisturbed.ForgeTimestamp([]byte("whatever"), time.Now())
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			w.WriteHeader(http.StatusCreated)
			_, _ = w.Write(response)
		}
	}
	anotherStamp := func(_ *testing.T, f *fixture) hook {
		return func(_ string, _ http.Handler, w http.ResponseWriter, _ *http.Request) {
			response, err := f.ForgeTimestamp([]byte("another signature"), time.Now())
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			w.WriteHeader(http.StatusCreated)
			_, _ = w.Write(response)
		}
	}
	for _, tc := range []struct {
		name   string
		server string
		hook   func(*testing.T, *fixture) hook
		want   string
		reason verify.Reason // of the self-verification, where it is that which refuses
	}{
		{name: "503 for good", server: sandbox.ServerRekorV2, hook: answer(http.StatusServiceUnavailable, `{"code":14,"message":"pushback"}`), want: "it returned 503: {\"code\":14,\"message\":\"pushback\"}"},
		{name: "400", server: sandbox.ServerRekorV2, hook: answer(http.StatusBadRequest, `{"code":3,"message":"invalid hashedrekord request"}`), want: "invalid hashedrekord request"},
		{name: "a log of version 1", server: sandbox.ServerRekorV2, hook: answer(http.StatusNotFound, "404 page not found"), want: "it returned 404"},
		{name: "a frozen log", server: sandbox.ServerRekorV2, hook: answer(http.StatusMethodNotAllowed, "This log has been frozen"), want: "it returned 405: This log has been frozen"},
		{name: "a page", server: sandbox.ServerRekorV2, hook: answer(http.StatusCreated, "<html>sign in to the proxy</html>"), want: "its answer is not a log entry"},
		{name: "empty", server: sandbox.ServerRekorV2, hook: answer(http.StatusCreated, ""), want: "its answer is not a log entry"},
		{name: "an empty entry", server: sandbox.ServerRekorV2, hook: answer(http.StatusCreated, "{}"), want: "does not verify", reason: verify.ReasonUnsupportedLogEntry},
		{name: "cut off", server: sandbox.ServerRekorV2, hook: cut, want: "EOF"},
		{name: "the same entry for good", server: sandbox.ServerRekorV2, hook: answer(http.StatusConflict, `{"code":6}`), want: "has this very entry already"},
		{name: "no proof", server: sandbox.ServerRekorV2, hook: onEntryV2(func(e map[string]any) { delete(e, "inclusionProof") }), want: "does not verify", reason: verify.ReasonMalformedSeal},
		{name: "a proof of another place", server: sandbox.ServerRekorV2, hook: onEntryV2(func(e map[string]any) { e["logIndex"] = "7" }), want: "does not verify", reason: verify.ReasonUnprovenLogEntry},
		{name: "a checkpoint that nobody signed", server: sandbox.ServerRekorV2, hook: inProof(func(p map[string]any) {
			c := p["checkpoint"].(map[string]any)
			c["envelope"] = strings.Replace(c["envelope"].(string), "127.0.0.1\n1\n", "127.0.0.1\n2\n", 1)
		}), want: "does not verify", reason: verify.ReasonUnprovenLogEntry},
		{name: "another log", server: sandbox.ServerRekorV2, hook: onEntryV2(func(e map[string]any) {
			e["logId"].(map[string]any)["keyId"] = base64.StdEncoding.EncodeToString(make([]byte, 32))
		}), want: "does not verify", reason: verify.ReasonUnprovenLogEntry},
		{name: "another version", server: sandbox.ServerRekorV2, hook: onEntryV2(func(e map[string]any) {
			e["kindVersion"].(map[string]any)["version"] = "0.0.1"
		}), want: "does not verify", reason: verify.ReasonLogEntryMismatch},
		{name: "somebody else's entry", server: sandbox.ServerRekorV2, hook: anotherEntry, want: "does not verify", reason: verify.ReasonUnsupportedLogEntry},

		{name: "no timestamps today", server: sandbox.ServerTimestamp, hook: answer(http.StatusServiceUnavailable, "down"), want: "it returned 503: down"},
		{name: "a timestamp authority that refuses", server: sandbox.ServerTimestamp, hook: answer(http.StatusBadRequest, "no thanks"), want: "no thanks"},
		{name: "a page for a timestamp", server: sandbox.ServerTimestamp, hook: answer(http.StatusOK, "<html>"), want: "timestamp authority http://"},
		{name: "an empty timestamp", server: sandbox.ServerTimestamp, hook: answer(http.StatusOK, ""), want: "timestamp authority http://"},
		{name: "a timestamp that is cut off", server: sandbox.ServerTimestamp, hook: cut, want: "EOF"},
		{name: "a stranger's timestamp", server: sandbox.ServerTimestamp, hook: strangersStamp, want: "does not verify", reason: verify.ReasonNoWitnessedTime},
		{name: "a timestamp of something else", server: sandbox.ServerTimestamp, hook: anotherStamp, want: "does not verify", reason: verify.ReasonNoWitnessedTime},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f := start(t)
			s := f.keyless(t, f.configV2())
			inner := tc.hook(t, f)
			f.wire.meddle(func(server string, next http.Handler, w http.ResponseWriter, r *http.Request) {
				if server == tc.server {
					inner(server, next, w, r)
					return
				}
				next.ServeHTTP(w, r)
			})
			out, err := s.Seal(t.Context(), batch(t, 1), time.Now())
			if err == nil || out != nil {
				t.Fatalf("Seal handed out %d documents, error %v", len(out), err)
			}
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %q does not contain %q", err, tc.want)
			}
			var rejected *verify.Rejected
			if errors.As(err, &rejected); tc.reason != "" && (rejected == nil || rejected.Reason != tc.reason) {
				t.Errorf("error %v, want the reason %s", err, tc.reason)
			}
			if tc.server == sandbox.ServerTimestamp && tc.reason == "" && f.wire.count(uploadV2Request) != 0 {
				t.Error("something was logged that nobody witnessed")
			}
		})
	}
}

// A log or a timestamp authority that stumbles is asked again. Where the answer
// to an upload was lost, the log has the entry and will not hand it out: then
// another signature is logged.
func TestSealV2Recovers(t *testing.T) {
	lost := func(t *testing.T, f *fixture) hook {
		quit := hangUp(t, f)
		return func(server string, next http.Handler, w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(httptest.NewRecorder(), r)
			quit(server, next, w, r)
		}
	}
	for _, tc := range []struct {
		name            string
		server          string
		stumble         func(*testing.T, *fixture) hook
		uploads, stamps int
	}{
		{"503", sandbox.ServerRekorV2, answer(http.StatusServiceUnavailable, "pushback"), 2, 1},
		{"429", sandbox.ServerRekorV2, answer(http.StatusTooManyRequests, ""), 2, 1},
		{"hung up", sandbox.ServerRekorV2, hangUp, 2, 1},
		{"logged and hung up", sandbox.ServerRekorV2, lost, 3, 2},
		{"no timestamp at first", sandbox.ServerTimestamp, answer(http.StatusServiceUnavailable, ""), 1, 2},
		{"the timestamp authority hung up", sandbox.ServerTimestamp, hangUp, 1, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f := start(t)
			s := f.keyless(t, f.configV2())
			var stumbled atomic.Bool
			stumble := tc.stumble(t, f)
			f.wire.meddle(func(server string, next http.Handler, w http.ResponseWriter, r *http.Request) {
				if server == tc.server && stumbled.CompareAndSwap(false, true) {
					stumble(server, next, w, r)
					return
				}
				next.ServeHTTP(w, r)
			})
			sealed, err := s.Seal(t.Context(), batch(t, 1), time.Now())
			if err != nil {
				t.Fatalf("Seal: %v", err)
			}
			mustVerify(t, f.policy(t), sealed)
			got := []int{f.wire.count(uploadV2Request), f.wire.count(timestampRequest)}
			if diff := cmp.Diff([]int{tc.uploads, tc.stamps}, got); diff != "" {
				t.Errorf("uploads and timestamps (-want +got):\n%s", diff)
			}
		})
	}
}

// The very same payload that somebody else logged before does no harm.
func TestSealV2PoisonedLog(t *testing.T) {
	f := start(t)
	now := time.Now()
	doc := batch(t, 1)[0]
	mallory, err := sign.Keyless(t.Context(), f.configV2(), f.FulcioURL, f.token(t, sandbox.Identity{Repository: "mallory/fork"}), now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := mallory.Seal(t.Context(), []*exception.Document{doc}, now); err != nil {
		t.Fatal(err)
	}
	sealed, err := f.keyless(t, f.configV2()).Seal(t.Context(), []*exception.Document{doc}, now)
	if err != nil {
		t.Fatalf("Seal: %v", err)
	}
	if got := mustVerify(t, f.policy(t), sealed)[0].Signatures()[0].LogIndex; got != 1 {
		t.Errorf("log index %d, want that of its own upload, 1", got)
	}
}

package sign_test

import (
	"bytes"
	"crypto"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/digitorus/timestamp"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/pkg/sign"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/expect"
)

// onEntryV2 changes the entry in an answer of a Rekor v2 log.
func onEntryV2(edit func(entry map[string]any)) fault {
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

func inProof(edit func(proof map[string]any)) fault {
	return onEntryV2(func(entry map[string]any) { edit(entry["inclusionProof"].(map[string]any)) })
}

// anotherEntry answers with another identity's valid entry for the same message.
func anotherEntry(t *testing.T, f *fixture) hook {
	theirs := &recorder{concerned: at(sandbox.ServerRekorV2)}
	f.wire.meddle(theirs.hook)
	token := f.token(t, sandbox.Identity{Repository: "mallory/fork"})
	mallory := expect.Value(sign.Keyless(t.Context(), f.configV2(), f.FulcioURL, token, time.Now()))(t)
	expect.Value(mallory.Seal(t.Context(), batch(t, 1), time.Now()))(t)
	return theirs.replay
}

// anotherStamp requests a timestamp of other data.
func anotherStamp(t *testing.T, _ *fixture) hook {
	return func(_ string, next http.Handler, w http.ResponseWriter, r *http.Request) {
		query, err := (&timestamp.Request{HashAlgorithm: crypto.SHA256, HashedMessage: make([]byte, 32)}).Marshal()
		if err != nil {
			t.Error(err)
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(query)), int64(len(query))
		next.ServeHTTP(w, r)
	}
}

// strangersStamp is a timestamp of the right data by an authority that is not trusted.
func strangersStamp(t *testing.T, _ *fixture) hook {
	stranger := expect.Value(url.Parse(start(t).TimestampURL))(t)
	theirs := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: stranger.Scheme, Host: stranger.Host})
	return func(_ string, _ http.Handler, w http.ResponseWriter, r *http.Request) { theirs.ServeHTTP(w, r) }
}

// An answer of a Rekor v2 log or of a timestamp authority that does not verify gives no signed
// document.
func TestLogV2Faults(t *testing.T) {
	for _, tc := range []struct {
		name, server string
		fault        fault
		asked        int
		want         string
		reason       string // of the self-verification, if it rejects
	}{
		{name: "503 for good", server: sandbox.ServerRekorV2, fault: answer(http.StatusServiceUnavailable, `{"code":14,"message":"pushback"}`), asked: 4,
			want: "it returned 503: {\"code\":14,\"message\":\"pushback\"} (asked 4 times)"},
		{name: "400", server: sandbox.ServerRekorV2, fault: answer(http.StatusBadRequest, `{"code":3,"message":"invalid hashedrekord request"}`), asked: 1, want: "invalid hashedrekord request"},
		{name: "a log of version 1", server: sandbox.ServerRekorV2, fault: answer(http.StatusNotFound, "404 page not found"), asked: 1, want: "it returned 404: 404 page not found"},
		{name: "a frozen log", server: sandbox.ServerRekorV2, fault: answer(http.StatusMethodNotAllowed, "This log has been frozen"), asked: 1, want: "it returned 405: This log has been frozen"},
		{name: "a page", server: sandbox.ServerRekorV2, fault: answer(http.StatusCreated, "<html>sign in to the proxy</html>"), asked: 1, want: "its answer is not a log entry"},
		{name: "empty", server: sandbox.ServerRekorV2, fault: answer(http.StatusCreated, ""), asked: 1, want: "its answer is not a log entry"},
		{name: "an empty entry", server: sandbox.ServerRekorV2, fault: answer(http.StatusCreated, "{}"), asked: 1, want: "does not verify", reason: verify.ReasonUnsupportedLogEntry},
		{name: "too big", server: sandbox.ServerRekorV2, fault: tooBig, asked: 1, want: "its answer is larger than 1024 KiB"},
		{name: "hung up", server: sandbox.ServerRekorV2, fault: hangUp, asked: 4, want: "EOF (asked 4 times)"},
		{name: "the same entry for good", server: sandbox.ServerRekorV2, fault: answer(http.StatusConflict, `{"code":6}`), asked: 2, want: "already has this entry"},
		{name: "no proof", server: sandbox.ServerRekorV2, fault: onEntryV2(func(e map[string]any) { delete(e, "inclusionProof") }), asked: 1,
			want: "does not verify", reason: verify.ReasonMalformedSignature},
		{name: "a proof of another place", server: sandbox.ServerRekorV2, fault: onEntryV2(func(e map[string]any) { e["logIndex"] = "4711" }), asked: 1,
			want: "does not verify", reason: verify.ReasonUnprovenLogEntry},
		{name: "a checkpoint that nobody signed", server: sandbox.ServerRekorV2, fault: inProof(func(p map[string]any) {
			c := p["checkpoint"].(map[string]any)
			c["envelope"] = strings.Replace(c["envelope"].(string), "127.0.0.1\n", "127.0.0.1\n1", 1)
		}), asked: 1, want: "does not verify", reason: verify.ReasonUnprovenLogEntry},
		{name: "another log", server: sandbox.ServerRekorV2, fault: onEntryV2(func(e map[string]any) {
			e["logId"].(map[string]any)["keyId"] = base64.StdEncoding.EncodeToString(make([]byte, 32))
		}), asked: 1, want: "does not verify", reason: verify.ReasonUnprovenLogEntry},
		{name: "another version", server: sandbox.ServerRekorV2, fault: onEntryV2(func(e map[string]any) {
			e["kindVersion"].(map[string]any)["version"] = "0.0.1"
		}), asked: 1, want: "does not verify", reason: verify.ReasonLogEntryMismatch},
		{name: "somebody else's entry", server: sandbox.ServerRekorV2, fault: anotherEntry, asked: 1, want: "does not verify", reason: verify.ReasonLogEntryMismatch},

		{name: "no timestamps today", server: sandbox.ServerTimestamp, fault: answer(http.StatusServiceUnavailable, "down"), asked: 4, want: "it returned 503: down (asked 4 times)"},
		{name: "a timestamp authority that refuses", server: sandbox.ServerTimestamp, fault: answer(http.StatusBadRequest, "no thanks"), asked: 1, want: "no thanks"},
		{name: "a page for a timestamp", server: sandbox.ServerTimestamp, fault: answer(http.StatusOK, "<html>"), asked: 1, want: "timestamp authority http://"},
		{name: "an empty timestamp", server: sandbox.ServerTimestamp, fault: answer(http.StatusOK, ""), asked: 1, want: "timestamp authority http://"},
		{name: "a timestamp that is too big", server: sandbox.ServerTimestamp, fault: tooBig, asked: 1, want: "its answer is larger than 1024 KiB"},
		{name: "a timestamp that is cut off", server: sandbox.ServerTimestamp, fault: cut, asked: 4, want: "unexpected EOF (asked 4 times)"},
		{name: "a stranger's timestamp", server: sandbox.ServerTimestamp, fault: strangersStamp, asked: 1, want: "does not verify", reason: verify.ReasonNoWitnessedTime},
		{name: "a timestamp of something else", server: sandbox.ServerTimestamp, fault: anotherStamp, asked: 1, want: "does not verify", reason: verify.ReasonNoWitnessedTime},
	} {
		t.Run(tc.name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, f *fixture) {
				t.Parallel()
				s := f.keyless(t, f.configV2())
				f.wire.meddle(only(at(tc.server), tc.fault(t, f)))
				uploads, asked := f.wire.count(uploadV2Request), f.wire.count(tc.server+" POST")
				refused(s.Seal(t.Context(), batch(t, 1), time.Now()))(t, tc.reason, tc.want)
				expect.Is(t, "requests", tc.asked, f.wire.count(tc.server+" POST")-asked)
				if tc.server == sandbox.ServerTimestamp && tc.reason == "" && f.wire.count(uploadV2Request) != uploads {
					t.Error("something was logged that nobody witnessed")
				}
			})
		})
	}
}

// Failed requests to a log or a timestamp authority are retried. If the answer to an upload was
// lost, the log has the entry and does not return it, so another signature is logged.
func TestLogV2FaultsPass(t *testing.T) {
	for _, tc := range []struct {
		name            string
		server          string
		fault           fault
		uploads, stamps int
	}{
		{"503", sandbox.ServerRekorV2, answer(http.StatusServiceUnavailable, "pushback"), 2, 1},
		{"429", sandbox.ServerRekorV2, answer(http.StatusTooManyRequests, "", "Retry-After", "5"), 2, 1},
		{"hung up", sandbox.ServerRekorV2, hangUp, 2, 1},
		{"logged and hung up", sandbox.ServerRekorV2, lost, 3, 2},
		{"logged and cut off", sandbox.ServerRekorV2, cut, 3, 2},
		{"no timestamp at first", sandbox.ServerTimestamp, answer(http.StatusServiceUnavailable, ""), 1, 2},
		{"a timestamp that is cut off", sandbox.ServerTimestamp, cut, 1, 2},
		{"the timestamp authority hung up", sandbox.ServerTimestamp, hangUp, 1, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, f *fixture) {
				t.Parallel()
				s := f.keyless(t, f.configV2())
				f.wire.meddle(only(firstOf(at(tc.server)), tc.fault(t, f)))
				f.seals(t, s, batch(t, 1))
				got := []int{f.wire.count(uploadV2Request), f.wire.count(timestampRequest)}
				expect.Equal(t, "uploads and timestamps", []int{tc.uploads, tc.stamps}, got)
			})
		})
	}
}

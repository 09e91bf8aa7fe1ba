package sign_test

import (
	"bytes"
	"context"
	"crypto"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/digitorus/timestamp"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/sign"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// onEntry changes the entry in a log's answer to an upload.
func onEntry(edit func(entry map[string]any)) fault {
	return rewrite(func(body []byte) []byte {
		var entries map[string]map[string]any
		decoder := json.NewDecoder(bytes.NewReader(body))
		decoder.UseNumber()
		if decoder.Decode(&entries) != nil {
			return body
		}
		for _, entry := range entries {
			edit(entry)
		}
		changed, _ := json.Marshal(entries)
		return changed
	})
}

func verification(entry map[string]any) map[string]any { return entry["verification"].(map[string]any) }

// An answer of a log that does not verify gives no signed document.
func TestLogFaults(t *testing.T) {
	for _, tc := range []struct {
		name   string
		fault  fault
		asked  int
		want   string
		reason string // of the self-verification, if it rejects
	}{
		{name: "503 for good", fault: answer(http.StatusServiceUnavailable, `{"code":503,"message":"down"}`), asked: 4,
			want: `it returned 503: {"code":503,"message":"down"} (asked 4 times)`},
		{name: "429 for an hour", fault: answer(http.StatusTooManyRequests, "slow down", "Retry-After", "3600"), asked: 1,
			want: "it returned 429: slow down (and requests no retry for 1h0m0s)"},
		{name: "400", fault: answer(http.StatusBadRequest, `{"code":400,"message":"no thanks"}`), asked: 1, want: "it returned 400: {\"code\":400,\"message\":\"no thanks\"}"},
		{name: "404", fault: answer(http.StatusNotFound, `nothing here`), asked: 1, want: "it returned 404: nothing here"},
		{name: "a way to somebody else", fault: answer(http.StatusPermanentRedirect, "", "Location", "/elsewhere"), asked: 1,
			want: "it returned 308; redirects are not followed"},
		{name: "a page", fault: answer(http.StatusCreated, "<html>sign in to the proxy</html>"), asked: 1, want: "its answer is not a log entry: invalid character '<'"},
		{name: "empty", fault: answer(http.StatusCreated, ""), asked: 1, want: "its answer is not a log entry"},
		{name: "null", fault: answer(http.StatusCreated, "null"), asked: 1, want: "not a complete log entry"},
		{name: "no entry", fault: answer(http.StatusCreated, "{}"), asked: 1, want: "not a complete log entry"},
		{name: "an empty entry", fault: answer(http.StatusCreated, `{"":{}}`), asked: 1, want: "not a complete log entry"},
		{name: "two entries", fault: answer(http.StatusCreated, `{"a":{},"b":{}}`), asked: 1, want: "not a complete log entry (2 are in it)"},
		{name: "too big", fault: tooBig, asked: 1, want: "its answer is larger than 1024 KiB"},
		{name: "hung up", fault: hangUp, asked: 4, want: "EOF (asked 4 times)"},
		{name: "no verification", fault: onEntry(func(e map[string]any) { delete(e, "verification") }), asked: 1, want: "not a complete log entry"},
		{name: "no promise", fault: onEntry(func(e map[string]any) { delete(verification(e), "signedEntryTimestamp") }), asked: 1,
			want: "does not verify", reason: verify.ReasonMalformedSignature},
		{name: "no proof", fault: onEntry(func(e map[string]any) { delete(verification(e), "inclusionProof") }), asked: 1, want: "not a complete log entry"},
		{name: "false promise", fault: onEntry(func(e map[string]any) {
			v := verification(e)
			v["signedEntryTimestamp"] = flip(v["signedEntryTimestamp"].(string))
		}), asked: 1, want: "does not verify", reason: verify.ReasonUnprovenLogEntry},
		{name: "false proof", fault: onEntry(func(e map[string]any) {
			verification(e)["inclusionProof"].(map[string]any)["rootHash"] = strings.Repeat("ab", 32)
		}), asked: 1, want: "does not verify", reason: verify.ReasonUnprovenLogEntry},
		{name: "another time", fault: onEntry(func(e map[string]any) { e["integratedTime"] = time.Now().Add(time.Minute).Unix() }), asked: 1,
			want: "does not verify", reason: verify.ReasonUnprovenLogEntry},
		{name: "another index", fault: onEntry(func(e map[string]any) { e["logIndex"] = 4711 }), asked: 1,
			want: "does not verify", reason: verify.ReasonUnprovenLogEntry},
		{name: "another log", fault: onEntry(func(e map[string]any) { e["logID"] = strings.Repeat("ab", 32) }), asked: 1,
			want: "does not verify", reason: verify.ReasonUnprovenLogEntry},
		{name: "body that is not one", fault: onEntry(func(e map[string]any) { e["body"] = "e30=" }), asked: 1, want: "kind in body"},
		{name: "body of a number", fault: onEntry(func(e map[string]any) { e["body"] = 7 }), asked: 1, want: "body is not"},
		// The log does not return the entry either; the same happens with another signature.
		{name: "a conflict about nothing", fault: answer(http.StatusConflict, `{"code":409,"message":"an equivalent entry already exists"}`), asked: 2,
			want: "it already has this entry, and does not return it"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, f *fixture) {
				t.Parallel()
				s := f.keyless(t, f.config())
				f.wire.meddle(only(isUpload, tc.fault(t, f)))
				before := f.wire.count(uploadRequest)
				which := "log " + f.RekorURL
				if tc.reason != "" {
					which = ""
				}
				refused(s.Seal(t.Context(), batch(t, 1), time.Now()))(t, tc.reason, tc.want, which)
				expect.Is(t, "uploads", tc.asked, f.wire.count(uploadRequest)-before)
			})
		})
	}
}

// refused expects the error of a batch: a reason, if the self-verification rejects, and texts.
func refused(out []*exception.Document, err error) func(t *testing.T, reason string, texts ...string) {
	return func(t *testing.T, reason string, texts ...string) {
		t.Helper()
		expect.Failure(out, err)(t, texts...)
		var rejected *verify.Rejected
		if errors.As(err, &rejected); reason != "" && (rejected == nil || rejected.Reason != reason) {
			t.Errorf("error %v, want the reason %s", err, reason)
		}
	}
}

// A failed upload is retried without harm. If the answer was lost, the log has the entry, and that one is used.
func TestLogFaultsPass(t *testing.T) {
	for _, tc := range []struct {
		name    string
		fault   fault
		fetched int // entries that were already in the log
	}{
		{"500", answer(http.StatusInternalServerError, "oops"), 0},
		{"503", answer(http.StatusServiceUnavailable, ""), 0},
		{"429", answer(http.StatusTooManyRequests, "", "Retry-After", "9"), 0},
		{"hung up", hangUp, 0},
		{"logged and hung up", lost, 1},
		{"logged and cut off", cut, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, f *fixture) {
				t.Parallel()
				s := f.keyless(t, f.config())
				f.wire.meddle(only(firstOf(isUpload), tc.fault(t, f)))
				f.seals(t, s, batch(t, 1))
				expect.Is(t, "uploads", 2, f.wire.count(uploadRequest))
				expect.Is(t, "entries fetched", tc.fetched, f.wire.count("rekor GET"))
				expect.Is(t, "searches in the log's index", 0, f.wire.count(searchRequest))
				expect.Is(t, "waits", 1, len(f.rest.taken()))
			})
		})
	}
}

// The log has accepted an entry that is not in its tree yet, so it cannot be fetched. Another
// signature makes another entry.
func TestLoggedAndNotThereYet(t *testing.T) {
	everywhere(t, func(t *testing.T, f *fixture) {
		s := f.keyless(t, f.config())
		conflict, nothing := firstOf(isUpload), answer(http.StatusNotFound, `{"code":404}`)(t, f)
		taken := answer(http.StatusConflict, `{"code":409}`)(t, f)
		f.wire.meddle(func(server string, next http.Handler, w http.ResponseWriter, r *http.Request) {
			switch {
			case conflict(server, r):
				taken(server, next, w, r)
			case server == sandbox.ServerRekor && r.Method == http.MethodGet:
				nothing(server, next, w, r)
			default:
				next.ServeHTTP(w, r)
			}
		})
		f.seals(t, s, batch(t, 1))
		expect.Is(t, "uploads", 2, f.wire.count(uploadRequest))
	})
}

// A log answers with another identity's valid entry for the same message, as the new entry or as the conflicting one.
func TestSomebodyElsesEntry(t *testing.T) {
	for _, conflict := range []bool{false, true} {
		t.Run(map[bool]string{false: "as created", true: "as a conflict"}[conflict], func(t *testing.T) {
			everywhere(t, func(t *testing.T, f *fixture) {
				now := time.Now()
				doc := batch(t, 1)[0]
				theirs := &recorder{concerned: isUpload}
				f.wire.meddle(theirs.hook)
				f.somebodyElses(t, doc, now)
				s := f.keyless(t, f.config())
				taken := answer(http.StatusConflict, `{"code":409}`, "Location", theirs.answer.Header().Get("Location"))(t, f)
				f.wire.meddle(func(server string, next http.Handler, w http.ResponseWriter, r *http.Request) {
					switch {
					case server != sandbox.ServerRekor:
						next.ServeHTTP(w, r)
					case conflict && isUpload(server, r):
						taken(server, next, w, r)
					default:
						if conflict {
							theirs.answer.Code = http.StatusOK
						}
						theirs.replay(server, next, w, r)
					}
				})
				out, err := s.Seal(t.Context(), []*exception.Document{doc}, now)
				refused(out, err)(t, verify.ReasonLogEntryMismatch, "does not verify")
			})
		})
	}
}

// The wait for a log or a timestamp authority that never answers ends after the configured time.
func TestLogNeverAnswers(t *testing.T) {
	keys := generated(t)
	for _, tc := range []struct {
		name, server string
		config       func(*fixture) sign.Config
	}{
		{"version 1", sandbox.ServerRekor, (*fixture).config},
		{"version 2", sandbox.ServerRekorV2, func(f *fixture) sign.Config {
			c := f.config()
			c.RekorURL, c.RekorVersion, c.TimestampURL = f.RekorV2URL, 2, undisturbed.TimestampURL
			return c
		}},
		{"timestamp authority", sandbox.ServerTimestamp, (*fixture).configV2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, f *fixture) {
				t.Parallel()
				config := tc.config(f)
				config.Timing.Answer = 250 * time.Millisecond
				// Only the log gets requests.
				s := must.Get(sign.WithKey(config, keys.PrivateBytes, []byte(keyPassword)))(t)
				f.wire.meddle(only(at(tc.server), mute(t, f)))
				refused(s.Seal(t.Context(), batch(t, 1), time.Now()))(t, "", "no answer within 250ms (asked 4 times)")
				expect.Is(t, "requests", 4, f.wire.count(tc.server+" POST"))
			})
		})
	}
}

// The caller can cancel while a server never answers.
func TestLogCancelled(t *testing.T) {
	keys := generated(t)
	for _, server := range []string{sandbox.ServerRekorV2, sandbox.ServerTimestamp} {
		t.Run(server, func(t *testing.T) {
			f := start(t)
			ctx, cancel := context.WithCancel(t.Context())
			never := mute(t, f)
			f.wire.meddle(only(at(server), func(server string, next http.Handler, w http.ResponseWriter, r *http.Request) {
				cancel()
				never(server, next, w, r)
			}))
			config := f.configV2()
			config.Timing.Answer = time.Hour // must not end the request
			s := must.Get(sign.WithKey(config, keys.PrivateBytes, []byte(keyPassword)))(t)
			if out, err := s.Seal(ctx, batch(t, 1), time.Now()); out != nil || !errors.Is(err, context.Canceled) {
				t.Errorf("Seal: %v, %v, want context.Canceled", out, err)
			}
		})
	}
}

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
	mallory := must.Get(sign.Keyless(t.Context(), f.configV2(), f.FulcioURL, token, time.Now()))(t)
	must.Get(mallory.Seal(t.Context(), batch(t, 1), time.Now()))(t)
	return theirs.replay
}

// anotherStamp requests a timestamp of other data.
func anotherStamp(t *testing.T, _ *fixture) hook {
	return func(_ string, next http.Handler, w http.ResponseWriter, r *http.Request) {
		query, err := (&timestamp.Request{HashAlgorithm: crypto.SHA256, HashedMessage: make([]byte, 32)}).Marshal()
		expect.NoError(t, err)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(query)), int64(len(query))
		next.ServeHTTP(w, r)
	}
}

// strangersStamp is a timestamp of the right data by an authority that is not trusted.
func strangersStamp(t *testing.T, _ *fixture) hook {
	stranger := must.Get(url.Parse(start(t).TimestampURL))(t)
	theirs := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: stranger.Scheme, Host: stranger.Host})
	return func(_ string, _ http.Handler, w http.ResponseWriter, r *http.Request) { theirs.ServeHTTP(w, r) }
}

// An answer of a Rekor v2 log or of a timestamp authority that does not verify gives no signed document.
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

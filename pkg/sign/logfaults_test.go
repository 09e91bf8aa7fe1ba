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

// onEntry changes the entry in a log's answer to an upload: with version 1 of Rekor, the only value of a map.
func onEntry(edit func(entry map[string]any)) fault {
	return rewrite(func(body []byte) []byte {
		var said map[string]any
		decoder := json.NewDecoder(bytes.NewReader(body))
		decoder.UseNumber()
		if decoder.Decode(&said) != nil {
			return body
		}
		if _, is := said["logIndex"]; is {
			edit(said)
		} else {
			for _, entry := range said {
				edit(entry.(map[string]any))
			}
		}
		changed, _ := json.Marshal(said)
		return changed
	})
}

// within returns the object of an entry at a path, and the last key of the path.
func within(entry map[string]any, path string) (object map[string]any, key string) {
	keys := strings.Split(path, ".")
	for _, key := range keys[:len(keys)-1] {
		entry = entry[key].(map[string]any)
	}
	return entry, keys[len(keys)-1]
}

func without(path string) fault {
	return onEntry(func(entry map[string]any) {
		object, key := within(entry, path)
		delete(object, key)
	})
}

func with(path string, value any) fault {
	return onEntry(func(entry map[string]any) {
		object, key := within(entry, path)
		object[key] = value
	})
}

func changed(path string, change func(text string) string) fault {
	return onEntry(func(entry map[string]any) {
		object, key := within(entry, path)
		object[key] = change(object[key].(string))
	})
}

func otherHost(checkpoint string) string {
	return strings.Replace(checkpoint, "127.0.0.1\n", "127.0.0.1\n1", 1)
}

// configs returns a configuration for each server that is at fault.
var configs = map[string]func(*fixture) sign.Config{
	sandbox.ServerRekor: (*fixture).config, sandbox.ServerRekorV2: (*fixture).configV2, sandbox.ServerTimestamp: (*fixture).configV2,
}

// logFault is a fault of a log or of a timestamp authority.
type logFault struct {
	name   string
	fault  fault
	asked  int // the default is 1
	want   string
	reason string // of the self-verification, if it rejects
}

var logFaults = map[string][]logFault{
	sandbox.ServerRekor: {
		{name: "503 for good", fault: answer(http.StatusServiceUnavailable, `{"code":503,"message":"down"}`), asked: 4,
			want: `it returned 503: {"code":503,"message":"down"} (asked 4 times)`},
		{name: "429 for an hour", fault: answer(http.StatusTooManyRequests, "slow down", "Retry-After", "3600"),
			want: "it returned 429: slow down (and requests no retry for 1h0m0s)"},
		{name: "400", fault: answer(http.StatusBadRequest, `{"message":"no thanks"}`), want: `it returned 400: {"message":"no thanks"}`},
		{name: "404", fault: answer(http.StatusNotFound, `nothing here`), want: "it returned 404: nothing here"},
		{name: "a way to somebody else", fault: answer(http.StatusPermanentRedirect, "", "Location", "/elsewhere"),
			want: "it returned 308; redirects are not followed"},
		{name: "a page", fault: answer(http.StatusCreated, "<html>sign in"), want: "its answer is not a log entry: invalid character '<'"},
		{name: "empty", fault: answer(http.StatusCreated, ""), want: "its answer is not a log entry"},
		{name: "null", fault: answer(http.StatusCreated, "null"), want: "not a complete log entry"},
		{name: "no entry", fault: answer(http.StatusCreated, "{}"), want: "not a complete log entry"},
		{name: "an empty entry", fault: answer(http.StatusCreated, `{"":{}}`), want: "not a complete log entry"},
		{name: "two entries", fault: answer(http.StatusCreated, `{"a":{},"b":{}}`), want: "not a complete log entry (2 are in it)"},
		{name: "too big", fault: tooBig, want: "its answer is larger than 1024 KiB"},
		{name: "hung up", fault: hangUp, asked: 4, want: "EOF (asked 4 times)"},
		{name: "no verification", fault: without("verification"), want: "not a complete log entry"},
		{name: "no promise", fault: without("verification.signedEntryTimestamp"), reason: verify.ReasonMalformedSignature},
		{name: "no proof", fault: without("verification.inclusionProof"), want: "not a complete log entry"},
		{name: "false promise", fault: changed("verification.signedEntryTimestamp", flip), reason: verify.ReasonUnprovenLogEntry},
		{name: "false proof", fault: with("verification.inclusionProof.rootHash", strings.Repeat("ab", 32)), reason: verify.ReasonUnprovenLogEntry},
		{name: "another time", fault: with("integratedTime", time.Now().Add(5*time.Minute).Unix()), reason: verify.ReasonUnprovenLogEntry},
		{name: "another index", fault: with("logIndex", 4711), reason: verify.ReasonUnprovenLogEntry},
		{name: "another log", fault: with("logID", strings.Repeat("ab", 32)), reason: verify.ReasonUnprovenLogEntry},
		{name: "body that is not one", fault: with("body", "e30="), want: "kind in body"},
		{name: "body of a number", fault: with("body", 7), want: "body is not"},
		// The log does not return the entry either; the same happens with another signature.
		{name: "a conflict about nothing", fault: answer(http.StatusConflict, `{"message":"an equivalent entry already exists"}`), asked: 2,
			want: "it already has this entry, and does not return it"},
	},
	sandbox.ServerRekorV2: {
		{name: "503 for good", fault: answer(http.StatusServiceUnavailable, `{"code":14,"message":"pushback"}`), asked: 4,
			want: `it returned 503: {"code":14,"message":"pushback"} (asked 4 times)`},
		{name: "400", fault: answer(http.StatusBadRequest, `{"message":"invalid hashedrekord request"}`), want: "invalid hashedrekord request"},
		{name: "a log of version 1", fault: answer(http.StatusNotFound, "404 page not found"), want: "it returned 404: 404 page not found"},
		{name: "a frozen log", fault: answer(http.StatusMethodNotAllowed, "frozen"), want: "it returned 405: frozen"},
		{name: "a page", fault: answer(http.StatusCreated, "<html>sign in"), want: "its answer is not a log entry"},
		{name: "empty", fault: answer(http.StatusCreated, ""), want: "its answer is not a log entry"},
		{name: "an empty entry", fault: answer(http.StatusCreated, "{}"), reason: verify.ReasonUnsupportedLogEntry},
		{name: "too big", fault: tooBig, want: "its answer is larger than 1024 KiB"},
		{name: "hung up", fault: hangUp, asked: 4, want: "EOF (asked 4 times)"},
		{name: "the same entry for good", fault: answer(http.StatusConflict, `{"code":6}`), asked: 2, want: "already has this entry"},
		{name: "no proof", fault: without("inclusionProof"), reason: verify.ReasonMalformedSignature},
		{name: "a proof of another place", fault: with("logIndex", "4711"), reason: verify.ReasonUnprovenLogEntry},
		{name: "a checkpoint that nobody signed", fault: changed("inclusionProof.checkpoint.envelope", otherHost),
			reason: verify.ReasonUnprovenLogEntry},
		{name: "another log", fault: with("logId.keyId", base64.StdEncoding.EncodeToString(make([]byte, 32))), reason: verify.ReasonUnprovenLogEntry},
		{name: "another version", fault: with("kindVersion.version", "0.0.1"), reason: verify.ReasonLogEntryMismatch},
		{name: "somebody else's entry", fault: anotherEntry, reason: verify.ReasonLogEntryMismatch},
	},
	sandbox.ServerTimestamp: {
		{name: "no timestamps today", fault: answer(http.StatusServiceUnavailable, "down"), asked: 4, want: "it returned 503: down (asked 4 times)"},
		{name: "refuses", fault: answer(http.StatusBadRequest, "no thanks"), want: "no thanks"},
		{name: "a page", fault: answer(http.StatusOK, "<html>")},
		{name: "empty", fault: answer(http.StatusOK, "")},
		{name: "too big", fault: tooBig, want: "its answer is larger than 1024 KiB"},
		{name: "cut off", fault: cut, asked: 4, want: "unexpected EOF (asked 4 times)"},
		{name: "a stranger's timestamp", fault: strangersStamp, reason: verify.ReasonNoWitnessedTime},
		{name: "a timestamp of something else", fault: anotherStamp, reason: verify.ReasonNoWitnessedTime},
	},
}

// An answer of a log or of a timestamp authority that does not verify gives no signed document.
func TestLogFaults(t *testing.T) {
	for server, faults := range logFaults {
		for _, tc := range faults {
			everywhere(t, server+", "+tc.name, func(t *testing.T, f *fixture) {
				t.Parallel()
				s := f.keyless(t, configs[server](f))
				f.wire.meddle(only(isPost(server), tc.fault(t, f)))
				uploads, asked := f.wire.count(uploadV2Request), f.wire.count(server+" POST")
				where := map[string]string{sandbox.ServerRekor: "log " + f.RekorURL, sandbox.ServerRekorV2: "log " + f.RekorV2URL,
					sandbox.ServerTimestamp: "timestamp authority " + f.TimestampURL}[server]
				if tc.reason != "" {
					where = "does not verify"
				}
				refused(s.Seal(t.Context(), batch(t, 1), time.Now()))(t, tc.reason, tc.want, where)
				expect.Is(t, "requests", max(tc.asked, 1), f.wire.count(server+" POST")-asked)
				if server == sandbox.ServerTimestamp && tc.reason == "" && f.wire.count(uploadV2Request) != uploads {
					t.Error("something was logged that nobody witnessed")
				}
			})
		}
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

// A failed request to a log or a timestamp authority is retried without harm. If the answer to an upload was lost, the log
// has the entry: a log of version 1 returns it, and with version 2, which does not, another signature is logged.
func TestLogFaultsPass(t *testing.T) {
	type requests struct{ Uploads, Stamps, Fetched, Searches, Waits int }
	retried, stampedTwice := requests{Uploads: 2, Waits: 1}, requests{Uploads: 1, Stamps: 2, Waits: 1}
	for _, tc := range []struct {
		name, server string
		fault        fault
		want         requests
	}{
		{"500", sandbox.ServerRekor, answer(http.StatusInternalServerError, "oops"), retried},
		{"503", sandbox.ServerRekor, answer(http.StatusServiceUnavailable, ""), retried},
		{"429", sandbox.ServerRekor, answer(http.StatusTooManyRequests, "", "Retry-After", "9"), retried},
		{"hung up", sandbox.ServerRekor, hangUp, retried},
		{"logged and hung up", sandbox.ServerRekor, lost, requests{Uploads: 2, Fetched: 1, Waits: 1}},
		{"logged and cut off", sandbox.ServerRekor, cut, requests{Uploads: 2, Fetched: 1, Waits: 1}},
		{"503", sandbox.ServerRekorV2, answer(http.StatusServiceUnavailable, "pushback"), requests{Uploads: 2, Stamps: 1, Waits: 1}},
		{"429", sandbox.ServerRekorV2, answer(http.StatusTooManyRequests, "", "Retry-After", "5"), requests{Uploads: 2, Stamps: 1, Waits: 1}},
		{"hung up", sandbox.ServerRekorV2, hangUp, requests{Uploads: 2, Stamps: 1, Waits: 1}},
		{"logged and hung up", sandbox.ServerRekorV2, lost, requests{Uploads: 3, Stamps: 2, Waits: 1}},
		{"logged and cut off", sandbox.ServerRekorV2, cut, requests{Uploads: 3, Stamps: 2, Waits: 1}},
		{"no timestamp at first", sandbox.ServerTimestamp, answer(http.StatusServiceUnavailable, ""), stampedTwice},
		{"cut off", sandbox.ServerTimestamp, cut, stampedTwice},
		{"hung up", sandbox.ServerTimestamp, hangUp, stampedTwice},
	} {
		everywhere(t, tc.server+", "+tc.name, func(t *testing.T, f *fixture) {
			t.Parallel()
			s := f.keyless(t, configs[tc.server](f))
			f.wire.meddle(only(firstOf(isPost(tc.server)), tc.fault(t, f)))
			f.seals(t, s, batch(t, 1))
			got := requests{f.wire.count(uploadRequest) + f.wire.count(uploadV2Request), f.wire.count(timestampRequest),
				f.wire.count("rekor GET"), f.wire.count(searchRequest), len(f.rest.taken())}
			expect.Equal(t, "requests", tc.want, got)
		})
	}
}

// The log has accepted an entry that is not in its tree yet, so it cannot be fetched. Another
// signature makes another entry.
func TestLoggedAndNotThereYet(t *testing.T) {
	everywhere(t, "", func(t *testing.T, f *fixture) {
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
		everywhere(t, map[bool]string{false: "as created", true: "as a conflict"}[conflict], func(t *testing.T, f *fixture) {
			now := time.Now()
			docs := batch(t, 1)
			theirs := &recorder{concerned: isUpload}
			f.wire.meddle(theirs.hook)
			f.somebodyElses(t, f.config(), docs, now)
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
			refused(s.Seal(t.Context(), docs, now))(t, verify.ReasonLogEntryMismatch, "does not verify")
		})
	}
}

// The wait for a log or a timestamp authority that never answers ends after the configured time.
func TestLogNeverAnswers(t *testing.T) {
	keys := generated(t)
	for server := range configs {
		everywhere(t, server, func(t *testing.T, f *fixture) {
			t.Parallel()
			config := configs[server](f)
			config.Timing.Answer = 250 * time.Millisecond
			// A key needs no certificate, so Fulcio gets no request with this limit.
			s := must.Get(sign.WithKey(config, keys.PrivateBytes, []byte(keyPassword)))(t)
			f.wire.meddle(only(at(server), mute(t, f)))
			refused(s.Seal(t.Context(), batch(t, 1), time.Now()))(t, "", "no answer within 250ms (asked 4 times)")
			expect.Is(t, "requests", 4, f.wire.count(server+" POST"))
		})
	}
}

// The caller can cancel while a server never answers.
func TestCancelled(t *testing.T) {
	for _, server := range []string{sandbox.ServerFulcio, sandbox.ServerRekorV2, sandbox.ServerTimestamp} {
		t.Run(server, func(t *testing.T) {
			f := start(t)
			token := f.token(t, sandbox.Identity{})
			ctx, cancel := context.WithCancel(t.Context())
			never := mute(t, f)
			f.wire.meddle(only(at(server), func(server string, next http.Handler, w http.ResponseWriter, r *http.Request) {
				cancel()
				never(server, next, w, r)
			}))
			config := f.configV2()
			config.Timing.Answer = time.Hour // must not end the request
			s, err := sign.Keyless(ctx, config, f.FulcioURL, token, time.Now())
			expect.Is(t, "a signer", server != sandbox.ServerFulcio, s != nil)
			if s != nil {
				var out []*exception.Document
				out, err = s.Seal(ctx, batch(t, 1), time.Now())
				expect.Empty(t, "signed documents", out)
			}
			expect.Cause(t, err, context.Canceled)
		})
	}
}

// anotherEntry answers with another identity's valid entry for the same message.
func anotherEntry(t *testing.T, f *fixture) hook {
	theirs := &recorder{concerned: at(sandbox.ServerRekorV2)}
	f.wire.meddle(theirs.hook)
	f.somebodyElses(t, f.configV2(), batch(t, 1), time.Now())
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

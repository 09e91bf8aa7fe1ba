package sign_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/sign"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/expect"
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
			everywhere(t, func(t *testing.T, place func(*testing.T) *fixture) {
				t.Parallel()
				f := place(t)
				s := f.keyless(t, f.config())
				f.wire.meddle(only(isUpload, tc.fault(t, f)))
				before := f.wire.count(uploadRequest)
				out, err := s.Seal(t.Context(), batch(t, 1), time.Now())
				f.refuses(t, out, err, refusal{want: tc.want, reason: tc.reason})
				if tc.reason == "" && !strings.Contains(err.Error(), "log "+f.RekorURL) {
					t.Errorf("error %v does not say which log", err)
				}
				if n := f.wire.count(uploadRequest) - before; n != tc.asked {
					t.Errorf("%d uploads, want %d", n, tc.asked)
				}
			})
		})
	}
}

// refusal is the expected error of a batch: a text and, if the self-verification rejects, its
// reason.
type refusal struct {
	want   string
	reason string
}

func (f *fixture) refuses(t *testing.T, out []*exception.Document, err error, r refusal) {
	t.Helper()
	if err == nil || out != nil {
		t.Fatalf("Seal handed out %d documents, error %v", len(out), err)
	}
	if !strings.Contains(err.Error(), r.want) {
		t.Errorf("error %q does not contain %q", err, r.want)
	}
	var rejected *verify.Rejected
	if errors.As(err, &rejected); r.reason != "" && (rejected == nil || rejected.Reason != r.reason) {
		t.Errorf("error %v, want the reason %s", err, r.reason)
	}
}

// A failed upload is retried without harm. If the answer was lost, the log has the entry, and that
// one is used.
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
			everywhere(t, func(t *testing.T, place func(*testing.T) *fixture) {
				t.Parallel()
				f := place(t)
				s := f.keyless(t, f.config())
				f.wire.meddle(only(firstOf(isUpload), tc.fault(t, f)))
				sealed := expect.Value(s.Seal(t.Context(), batch(t, 1), time.Now()))(t)
				mustVerify(t, f.policy(t), sealed)
				if uploads, fetched := f.wire.count(uploadRequest), f.wire.count("rekor GET"); uploads != 2 || fetched != tc.fetched {
					t.Errorf("%d uploads and %d entries fetched, want 2 and %d", uploads, fetched, tc.fetched)
				}
				if n := f.wire.count(searchRequest); n != 0 {
					t.Errorf("the log's index was searched %d times", n)
				}
				if n := len(f.rest.taken()); n != 1 {
					t.Errorf("waited %d times, want once", n)
				}
			})
		})
	}
}

// The log has accepted an entry that is not in its tree yet, so it cannot be fetched. Another
// signature makes another entry.
func TestLoggedAndNotThereYet(t *testing.T) {
	everywhere(t, func(t *testing.T, place func(*testing.T) *fixture) {
		f := place(t)
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
		sealed := expect.Value(s.Seal(t.Context(), batch(t, 1), time.Now()))(t)
		mustVerify(t, f.policy(t), sealed)
		expect.Is(t, "uploads", 2, f.wire.count(uploadRequest))
	})
}

// A log answers with another identity's valid entry for the same message, as the new entry or as
// the conflicting one.
func TestSomebodyElsesEntry(t *testing.T) {
	for _, conflict := range []bool{false, true} {
		t.Run(map[bool]string{false: "as created", true: "as a conflict"}[conflict], func(t *testing.T) {
			everywhere(t, func(t *testing.T, place func(*testing.T) *fixture) {
				f := place(t)
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
				f.refuses(t, out, err, refusal{"does not verify", verify.ReasonLogEntryMismatch})
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
			everywhere(t, func(t *testing.T, place func(*testing.T) *fixture) {
				t.Parallel()
				f := place(t)
				config := tc.config(f)
				config.Timing.Answer = 250 * time.Millisecond
				s, err := sign.WithKey(config, keys.PrivateBytes, []byte(keyPassword)) // only the log gets requests
				if err != nil {
					t.Fatal(err)
				}
				f.wire.meddle(only(at(tc.server), mute(t, f)))
				out, err := s.Seal(t.Context(), batch(t, 1), time.Now())
				f.refuses(t, out, err, refusal{want: "no answer within 250ms (asked 4 times)"})
				if n := f.wire.count(tc.server + " POST"); n != 4 {
					t.Errorf("asked %d times, want 4", n)
				}
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
			s := expect.Value(sign.WithKey(config, keys.PrivateBytes, []byte(keyPassword)))(t)
			if out, err := s.Seal(ctx, batch(t, 1), time.Now()); out != nil || !errors.Is(err, context.Canceled) {
				t.Errorf("Seal: %v, %v, want context.Canceled", out, err)
			}
		})
	}
}

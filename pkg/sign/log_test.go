package sign_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/sign"
	"github.com/polex-dev/polex/pkg/verify"
)

// Whatever a log answers, what does not verify is not handed out.
func TestSealLogFails(t *testing.T) {
	for _, tc := range []struct {
		name   string
		hook   func(*testing.T, *fixture) hook
		want   string
		reason verify.Reason // of the self-verification, where it is that which refuses
	}{
		{name: "503 for good", hook: answer(http.StatusServiceUnavailable, `{"code":503,"message":"down"}`), want: "503"},
		{name: "400", hook: answer(http.StatusBadRequest, `{"code":400,"message":"no thanks"}`), want: "no thanks"},
		{name: "404", hook: answer(http.StatusNotFound, `nothing here`), want: "log http://"},
		{name: "a page", hook: answer(http.StatusCreated, "<html>sign in to the proxy</html>"), want: "invalid character '<'"},
		{name: "empty", hook: answer(http.StatusCreated, ""), want: "not a complete log entry"},
		{name: "null", hook: answer(http.StatusCreated, "null"), want: "not a complete log entry"},
		{name: "no entry", hook: answer(http.StatusCreated, "{}"), want: "not a complete log entry"},
		{name: "an empty entry", hook: answer(http.StatusCreated, `{"":{}}`), want: "not a complete log entry"},
		{name: "conflict without a place", hook: answer(http.StatusConflict, `{"code":409,"message":"an equivalent entry already exists"}`), want: "conflicting entry"},
		{name: "cut off", hook: cut, want: "EOF"},
		{name: "no verification", hook: onEntry(func(e map[string]any) { delete(e, "verification") }), want: "not a complete log entry"},
		{name: "no promise", hook: onEntry(func(e map[string]any) {
			delete(e["verification"].(map[string]any), "signedEntryTimestamp")
		}), want: "does not verify", reason: verify.ReasonMalformedSeal},
		{name: "no proof", hook: onEntry(func(e map[string]any) {
			delete(e["verification"].(map[string]any), "inclusionProof")
		}), want: "not a complete log entry"},
		{name: "false promise", hook: onEntry(func(e map[string]any) {
			v := e["verification"].(map[string]any)
			v["signedEntryTimestamp"] = flip(v["signedEntryTimestamp"].(string))
		}), want: "does not verify", reason: verify.ReasonUnprovenLogEntry},
		{name: "false proof", hook: onEntry(func(e map[string]any) {
			proof := e["verification"].(map[string]any)["inclusionProof"].(map[string]any)
			proof["rootHash"] = strings.Repeat("ab", 32)
		}), want: "does not verify", reason: verify.ReasonUnprovenLogEntry},
		{name: "another time", hook: onEntry(func(e map[string]any) { e["integratedTime"] = time.Now().Add(time.Minute).Unix() }),
			want: "does not verify", reason: verify.ReasonUnprovenLogEntry},
		{name: "another index", hook: onEntry(func(e map[string]any) { e["logIndex"] = 4711 }),
			want: "does not verify", reason: verify.ReasonUnprovenLogEntry},
		{name: "another log", hook: onEntry(func(e map[string]any) { e["logID"] = strings.Repeat("ab", 32) }),
			want: "does not verify", reason: verify.ReasonUnprovenLogEntry},
		{name: "body that is not one", hook: onEntry(func(e map[string]any) { e["body"] = "e30=" }), want: "kind in body"},
		{name: "body of a number", hook: onEntry(func(e map[string]any) { e["body"] = 7 }), want: "body is not"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f := start(t)
			s := f.keyless(t, f.config())
			inner := tc.hook(t, f)
			f.wire.meddle(func(server string, next http.Handler, w http.ResponseWriter, r *http.Request) {
				if isUpload(server, r) {
					inner(server, next, w, r)
					return
				}
				next.ServeHTTP(w, r)
			})
			out, err := s.Seal(t.Context(), batch(t, 3), time.Now())
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
		})
	}
}

func TestSealLogUnreachable(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	f := shared(t)
	s := f.keyless(t, sign.Config{RekorURL: gone.URL, Root: f.root})
	out, err := s.Seal(t.Context(), batch(t, 2), time.Now())
	if out != nil || err == nil || !strings.Contains(err.Error(), "log "+gone.URL) || !strings.Contains(err.Error(), "refused") {
		t.Errorf("Seal: %d documents, %v, want an error that names the address", len(out), err)
	}
}

// A log that stumbles is asked again, and the batch is none the worse.
func TestSealLogRecovers(t *testing.T) {
	for name, stumble := range map[string]func(*testing.T, *fixture) hook{
		"500": answer(http.StatusInternalServerError, "oops"), "503": answer(http.StatusServiceUnavailable, ""),
		"429": answer(http.StatusTooManyRequests, ""), "hung up": hangUp,
		// The entry is in the log, and the answer was lost: the second try is a conflict.
		"logged and hung up": func(t *testing.T, f *fixture) hook {
			quit := hangUp(t, f)
			return func(server string, next http.Handler, w http.ResponseWriter, r *http.Request) {
				next.ServeHTTP(httptest.NewRecorder(), r)
				quit(server, next, w, r)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := start(t)
			s := f.keyless(t, f.config())
			var uploads atomic.Int64
			stumble := stumble(t, f)
			f.wire.meddle(func(server string, next http.Handler, w http.ResponseWriter, r *http.Request) {
				if isUpload(server, r) && uploads.Add(1)%2 == 1 {
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
			if n := uploads.Load(); n != 2 {
				t.Errorf("%d uploads, want 2", n)
			}
			if n := f.wire.count(searchRequest); n != 0 {
				t.Errorf("the log's index was searched %d times", n)
			}
		})
	}
}

// somebodyElses logs the very payload that a document will be signed as, by
// another identity, and returns the entry's place in the log.
func (f *fixture) somebodyElses(t *testing.T, doc *exception.Document, now time.Time) int64 {
	t.Helper()
	token := f.token(t, sandbox.Identity{Repository: "mallory/fork"})
	mallory, err := sign.Keyless(t.Context(), f.config(), f.FulcioURL, token, now)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := mallory.Seal(t.Context(), []*exception.Document{doc}, now)
	if err != nil {
		t.Fatal(err)
	}
	return logIndex(t, theirs[0])
}

func logIndex(t *testing.T, doc *exception.Document) int64 {
	t.Helper()
	s, err := seal.Read(doc)
	if err != nil {
		t.Fatal(err)
	}
	return s.Signatures[0].Bundle.Payload.LogIndex
}

// Attack 97: the payload is in the log already, signed by somebody else, before
// it is signed here. The seal carries the entry of its own upload.
func TestSealPoisonedLog(t *testing.T) {
	f := start(t)
	now := time.Now()
	doc := batch(t, 1)[0]
	theirs := f.somebodyElses(t, doc, now)
	sealed, err := f.keyless(t, f.config()).Seal(t.Context(), []*exception.Document{doc}, now)
	if err != nil {
		t.Fatalf("Seal: %v", err)
	}
	opened := mustVerify(t, f.policy(t), sealed)
	if got, want := opened[0].Signatures()[0].LogIndex, theirs+1; got != want {
		t.Errorf("log index %d, want that of its own upload, %d", got, want)
	}
	if n := f.wire.count(searchRequest); n != 0 {
		t.Errorf("the log's index was searched %d times", n)
	}
	if n := f.wire.count("rekor GET"); n != 0 {
		t.Errorf("the log was asked for entries %d times", n)
	}
}

// A log that answers with a true entry of somebody else, for the very same
// payload, as the upload's own or as the one it conflicts with.
func TestSealSomebodyElsesEntry(t *testing.T) {
	for _, conflict := range []bool{false, true} {
		name := map[bool]string{false: "as created", true: "as a conflict"}[conflict]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := start(t)
			now := time.Now()
			doc := batch(t, 1)[0]
			f.somebodyElses(t, doc, now)
			s := f.keyless(t, f.config())
			f.wire.meddle(func(server string, next http.Handler, w http.ResponseWriter, r *http.Request) {
				if !isUpload(server, r) {
					next.ServeHTTP(w, r)
					return
				}
				get := httptest.NewRecorder()
				next.ServeHTTP(get, httptest.NewRequestWithContext(r.Context(), http.MethodGet, "/api/v1/log/entries?logIndex=0", nil))
				var entries map[string]json.RawMessage
				if err := json.Unmarshal(get.Body.Bytes(), &entries); err != nil || len(entries) != 1 {
					t.Errorf("entry 0: %v, %s", err, get.Body)
				}
				for id := range entries {
					w.Header().Set("ETag", id)
					w.Header().Set("Location", r.URL.Path+"/"+id)
				}
				w.Header().Set("Content-Type", "application/json")
				if conflict {
					w.WriteHeader(http.StatusConflict)
					_, _ = w.Write([]byte(`{"code":409,"message":"an equivalent entry already exists"}`))
					return
				}
				w.WriteHeader(http.StatusCreated)
				_, _ = w.Write(get.Body.Bytes())
			})
			out, err := s.Seal(t.Context(), []*exception.Document{doc}, now)
			var rejected *verify.Rejected
			if out != nil || !errors.As(err, &rejected) || rejected.Reason != verify.ReasonLogEntryMismatch {
				t.Errorf("Seal: %d documents, %v, want %s", len(out), err, verify.ReasonLogEntryMismatch)
			}
		})
	}
}

package sign_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	sgsign "github.com/sigstore/sigstore-go/pkg/sign"
)

// answer is a server that says the same to everything.
func answer(status int, body string) func(*testing.T, *fixture) hook {
	return func(*testing.T, *fixture) hook {
		return func(_ string, _ http.Handler, w http.ResponseWriter, _ *http.Request) {
			if status != http.StatusNotFound { // a router's own word, unlike the rest
				w.Header().Set("Content-Type", "application/json")
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
}

// cut sends the first half of the true answer, every time.
func cut(*testing.T, *fixture) hook {
	return func(_ string, next http.Handler, w http.ResponseWriter, r *http.Request) {
		true := httptest.NewRecorder()
		next.ServeHTTP(true, r)
		for name, values := range true.Header() {
			w.Header()[name] = values
		}
		w.Header().Set("Content-Length", "100000") // more than will come
		w.WriteHeader(true.Code)
		_, _ = w.Write(true.Body.Bytes()[:true.Body.Len()/2])
	}
}

// hangUp closes the connection without a word.
func hangUp(t *testing.T, _ *fixture) hook {
	return func(_ string, _ http.Handler, w http.ResponseWriter, _ *http.Request) {
		connection, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Errorf("hijack: %v", err)
			return
		}
		_ = connection.Close()
	}
}

// rewrite changes the true answer.
func rewrite(edit func(body []byte) []byte) func(*testing.T, *fixture) hook {
	return func(*testing.T, *fixture) hook {
		return func(_ string, next http.Handler, w http.ResponseWriter, r *http.Request) {
			true := httptest.NewRecorder()
			next.ServeHTTP(true, r)
			for name, values := range true.Header() {
				w.Header()[name] = values
			}
			w.WriteHeader(true.Code)
			_, _ = w.Write(edit(true.Body.Bytes()))
		}
	}
}

// onEntry changes the entry that a log answers an upload with.
func onEntry(edit func(entry map[string]any)) func(*testing.T, *fixture) hook {
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

// record asks a Fulcio for a certificate for a key that nobody keeps.
func record(t *testing.T, fulcioURL, token string) []byte {
	t.Helper()
	pair, err := sgsign.NewEphemeralKeypair(nil)
	if err != nil {
		t.Fatal(err)
	}
	recorder := &recorder{}
	_, err = sgsign.NewFulcio(&sgsign.FulcioOptions{BaseURL: fulcioURL, Transport: recorder}).GetCertificate(
		context.Background(), pair, &sgsign.CertificateProviderOptions{IDToken: token})
	if err != nil {
		t.Fatal(err)
	}
	return recorder.body
}

type recorder struct{ body []byte }

func (r *recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if r.body, err = io.ReadAll(response.Body); err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(r.body))
	return response, nil
}

func isNil(v any) bool { return v == nil || reflect.ValueOf(v).IsNil() }

// flip changes one character of base64 to another one.
func flip(text string) string {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(raw) == 0 {
		return strings.ToUpper(text)
	}
	raw[len(raw)/2] ^= 1
	return base64.StdEncoding.EncodeToString(raw)
}

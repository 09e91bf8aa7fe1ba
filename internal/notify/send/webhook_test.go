package send_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/notify"
	"github.com/polex-dev/polex/internal/notify/send"
	"github.com/polex-dev/polex/internal/retry"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// The path and the query of a webhook's address are its secret.
const secretPath, secretQuery = "/services/T000/B000/s3cr3tpart", "sig=s3cr3tsig"

func hook(t *testing.T, render send.Render, answer http.HandlerFunc) *send.Webhook {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return must.Get(send.NewWebhook(server.Client(), impatient(time.Minute), render,
		server.URL+secretPath+"?"+secretQuery))(t)
}

// Each form is sent to the exact address in its own format.
func TestSend(t *testing.T) {
	for form, render := range map[string]send.Render{"json": notify.JSON, "slack": notify.Slack} {
		var got string
		w := hook(t, render, func(w http.ResponseWriter, r *http.Request) {
			raw, _ := io.ReadAll(r.Body)
			got = r.Method + " " + r.URL.String() + " " + r.Header.Get("Content-Type") + "\n" + string(raw)
			w.WriteHeader(http.StatusAccepted)
		})
		must.Do(t, w.Send(t.Context(), event()))
		body := must.Get(render(event()))(t)
		want := "POST " + secretPath + "?" + secretQuery + " application/json\n" + string(body)
		expect.That(t, got == want, "%s got %s, want %s", form, got, want)
	}
}

// An error contains no secret, also if the server sends one back.
func TestWebhookFaults(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was led elsewhere") }))
	defer elsewhere.Close()
	says := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "no such thing: "+path.Base(r.URL.Path)) // a part of the path is a secret too
		}
	}
	for name, tc := range map[string]struct {
		answer http.HandlerFunc
		asked  int
		want   string
	}{
		"not found":   {says(http.StatusNotFound), 1, "it returned 404"},
		"bad request": {says(http.StatusBadRequest), 1, "it returned 400"},
		"overloaded":  {says(http.StatusServiceUnavailable), 4, "it returned 503"},
		"limited":     {says(http.StatusTooManyRequests), 4, "it returned 429"},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		}, 1, "not followed"},
		"cut off":      {cutOff, 4, "EOF"},
		"without end":  {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 2<<20)) }, 1, "larger than"},
		"not modified": {says(http.StatusNotModified), 1, "304"},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			w := hook(t, notify.JSON, func(w http.ResponseWriter, r *http.Request) {
				asked++
				tc.answer(w, r)
			})
			err := w.Send(t.Context(), event())
			must.That(t, err != nil && strings.Contains(err.Error(), tc.want), "it says %v, want %q", err, tc.want)
			expect.That(t, !strings.Contains(err.Error(), "s3cr3t") && !strings.Contains(err.Error(), "Post "),
				"it says the secret, or the address: %v", err)
			expect.That(t, asked == tc.asked, "asked %d times, want %d", asked, tc.asked)
		})
	}
}

func TestWebhookOnceItIsBack(t *testing.T) {
	asked := 0
	w := hook(t, notify.Slack, func(w http.ResponseWriter, _ *http.Request) {
		if asked++; asked < 3 {
			w.WriteHeader(http.StatusBadGateway)
		}
	})
	err := w.Send(t.Context(), event())
	expect.That(t, err == nil && asked == 3, "asked %d times: %v", asked, err)
}

func TestWebhookAddresses(t *testing.T) {
	for address, ok := range map[string]bool{
		"https://hooks.example.com/s3cr3tpart": true, "https://a.example.com:8443/x?sig=s3cr3tsig&sv=1": true,
		"http://127.0.0.1:1/s3cr3tpart": true, "http://localhost/s3cr3tpart": true,
		"http://hooks.example.com/s3cr3tpart": false, "http://127.0.0.1.example.com/s3cr3tpart": false, "http://localhost@evil.example/s3cr3tpart": false,
		"https://user:s3cr3tpart@hooks.example.com/": false, "ftp://hooks.example.com/s3cr3tpart": false, "s3cr3tpart": false, "": false,
		"https://hooks.example.com/s3cr3tpart\n": false, "https://hooks.example.com/%zzs3cr3tpart": false, "file:///etc/s3cr3tpart": false, "https:s3cr3tpart": false,
	} {
		_, err := send.NewWebhook(&http.Client{}, impatient(0), notify.JSON, address)
		expect.That(t, (err == nil) == ok, "%q: %v", address, err)
		expect.That(t, err == nil || !strings.Contains(err.Error(), "s3cr3t"), "it says the secret: %v", err)
	}
}

var now = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func event() notify.Event {
	return notify.Event{Kind: notify.Signed, Verified: true, Reason: "until it is fixed", LogIndex: 12, SignedAt: now, ExpiresAt: now.Add(time.Hour),
		Identity: exception.Identity{GroupKind: exception.GroupKind{Group: exception.KyvernoGroup, Kind: exception.Kind}, Namespace: "platform", Name: "mongo"}}
}

// impatient does not pause before retries, and waits this long for an answer.
func impatient(answer time.Duration) retry.Timing {
	return retry.Timing{Answer: answer, Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }}
}

// cutOff closes the connection without an answer.
func cutOff(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

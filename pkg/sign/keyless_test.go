package sign_test

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/pkg/sign"
	"github.com/polex-dev/polex/test/expect"
)

func TestKeylessIdentity(t *testing.T) {
	f := shared(t)
	got := f.keyless(t, f.config()).Identity()
	want := sandbox.Identity{}.Subject()
	if got.Subject != want || got.Issuer != f.IssuerURL || got.Claims["buildTrigger"] != "push" {
		t.Errorf("identity %+v, want subject %q of %q", got, want, f.IssuerURL)
	}
}

// A token that Fulcio would reject is not sent.
func TestKeylessTokenNotSent(t *testing.T) {
	f := start(t)
	claims := func(json string) string { return "e30." + base64.RawURLEncoding.EncodeToString([]byte(json)) + ".AAAA" }
	for _, tc := range []struct{ name, token, want string }{
		{"expired", f.token(t, sandbox.Identity{TokenLifetime: -time.Minute}), "the identity token has expired, at 20"},
		{"empty", "", "not a JSON web token"},
		{"not a token", "hunter2", "not a JSON web token"},
		{"two parts", "e30.e30", "not a JSON web token"},
		{"four parts", "e30.e30.e30.e30", "not a JSON web token"},
		{"not base64", "e30.!!!.e30", "not a JSON web token"},
		{"padded base64", "e30." + base64.URLEncoding.EncodeToString([]byte(`{"exp":10}`)) + ".e30", "not a JSON web token"},
		{"not JSON", claims("exp=1"), "not a JSON web token"},
		{"a list", claims("[1]"), "not a JSON web token"},
		{"expiry as text", claims(`{"exp":"1"}`), "not a JSON web token"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := sign.Keyless(t.Context(), f.config(), f.FulcioURL, tc.token, time.Now())
			expect.Failure(s, err)(t, tc.want)
			expect.Is(t, "ErrTokenExpired", tc.name == "expired", errors.Is(err, sign.ErrTokenExpired))
			if len(tc.token) > 8 && strings.Contains(err.Error(), tc.token) {
				t.Errorf("the error repeats the token: %v", err)
			}
		})
	}
	expect.Is(t, "requests to Fulcio", 0, f.wire.count("fulcio"))
}

// A rejection by Fulcio is reported with its message, and there is no retry.
func TestKeylessFulcioRefuses(t *testing.T) {
	f := start(t)
	for _, tc := range []struct {
		name, audience string
		id             sandbox.Identity
	}{
		{name: "wrong audience", audience: "somebody-else"},
		{name: "no audience"},
		{name: "unknown issuer", audience: "sigstore", id: sandbox.Identity{Issuer: "https://stranger.invalid"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := f.wire.count(certificateRequest)
			token := expect.Value(f.Token(tc.id, tc.audience))(t)
			s, err := sign.Keyless(t.Context(), f.config(), f.FulcioURL, token, time.Now())
			expect.Failure(s, err)(t, "certificate from "+f.FulcioURL+": Fulcio returned 4",
				fmt.Sprintf("audience %q", cmp.Or(tc.audience, "https://github.com/acme")),
				fmt.Sprintf("issuer %q", cmp.Or(tc.id.Issuer, f.IssuerURL)))
			expect.Is(t, "ErrTokenRefused", true, errors.Is(err, sign.ErrTokenRefused))
			expect.Is(t, "requests", 1, f.wire.count(certificateRequest)-before)
		})
	}
}

func TestKeylessFulcioUnreachable(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	f := shared(t)
	s, err := sign.Keyless(t.Context(), f.config(), gone.URL, f.token(t, sandbox.Identity{}), time.Now())
	expect.Failure(s, err)(t, "certificate from "+gone.URL, "refused")
}

// The caller can cancel while a server does not answer.
func TestKeylessCancelled(t *testing.T) {
	f := start(t)
	token := f.token(t, sandbox.Identity{})
	ctx, cancel := context.WithCancel(t.Context())
	f.wire.meddle(func(_ string, _ http.Handler, _ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done() // until the client closes the connection
	})
	config := f.config()
	config.Timing.Answer = time.Hour // must not end the request
	s, err := sign.Keyless(ctx, config, f.FulcioURL, token, time.Now())
	if s != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("Keyless: %v, %v, want context.Canceled", s, err)
	}
}

func TestSignerNeedsRoot(t *testing.T) {
	f := shared(t)
	config, token := sign.Config{RekorURL: f.RekorURL}, f.token(t, sandbox.Identity{})
	expect.Failure(sign.Keyless(t.Context(), config, f.FulcioURL, token, time.Now()))(t, "no trusted root")
}

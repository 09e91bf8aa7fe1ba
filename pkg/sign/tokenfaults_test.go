package sign_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/pkg/sign"
	"github.com/polex-dev/polex/test/expect"
)

const tokenRequest = "issuer GET /token"

// asActions sets the environment of a GitHub Actions job, with that address for tokens.
func asActions(t *testing.T, address, bearer string) {
	t.Helper()
	t.Setenv("ACTIONS_ID_TOKEN_REQUEST_URL", address)
	t.Setenv("ACTIONS_ID_TOKEN_REQUEST_TOKEN", bearer)
}

// A fault of the token endpoint is reported as such, and its answer is not used as a token.
func TestTokenFaults(t *testing.T) {
	for _, tc := range []struct {
		name    string
		fault   fault
		asked   int
		patient time.Duration
		want    string // "" for a token
	}{
		{name: "503 for good", fault: answer(http.StatusServiceUnavailable, "unavailable"), asked: 4, want: "it returned 503: unavailable (asked 4 times)"},
		{name: "503 that looks like a token", fault: answer(http.StatusServiceUnavailable, `{"value":"a.b.c"}`), asked: 4, want: "it returned 503"},
		{name: "429 for an hour", fault: answer(http.StatusTooManyRequests, "", "Retry-After", "3600"), asked: 1, want: "requests no retry for 1h0m0s"},
		{name: "403", fault: answer(http.StatusForbidden, `{"message":"no id-token permission"}`), asked: 1, want: "no id-token permission"},
		{name: "a way to somebody else", fault: answer(http.StatusFound, "", "Location", "/elsewhere"), asked: 1, want: "redirects are not followed"},
		{name: "a page", fault: answer(http.StatusOK, "<html>sign in"), asked: 1, want: "its answer holds no token"},
		{name: "nothing", fault: answer(http.StatusOK, "{}"), asked: 1, want: "its answer holds no token"},
		{name: "too big", fault: tooBig, asked: 1, want: "its answer is larger than 1024 KiB"},
		{name: "cut off", fault: cut, asked: 4, want: "unexpected EOF (asked 4 times)"},
		{name: "mute", fault: mute, asked: 4, patient: 20 * time.Millisecond, want: "no answer within 20ms (asked 4 times)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, f *fixture) {
				asActions(t, f.TokenRequestURL, f.TokenRequestToken)
				f.wire.meddle(only(at(sandbox.ServerIssuer), tc.fault(t, f)))
				token, err := sign.AmbientToken(t.Context(), sign.DefaultClientID, sign.Timing{Answer: tc.patient, Sleep: f.rest.sleep})
				expect.Failure(token, err)(t, "identity token of GitHub Actions: ", tc.want)
				if err != nil && strings.Contains(err.Error(), f.TokenRequestToken) {
					t.Error("the error repeats the bearer")
				}
				expect.Is(t, "ErrNoToken", false, errors.Is(err, sign.ErrNoToken)) // an endpoint that fails is one
				expect.Is(t, "requests", tc.asked, f.wire.count(tokenRequest))
			})
		})
	}
}

// A failed request to the token endpoint is retried.
func TestTokenFaultsPass(t *testing.T) {
	for name, fault := range map[string]fault{"500": answer(http.StatusInternalServerError, ""), "429": answer(http.StatusTooManyRequests, ""),
		"hung up": hangUp, "cut off": cut} {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, f *fixture) {
				asActions(t, f.TokenRequestURL, f.TokenRequestToken)
				f.wire.meddle(only(firstOf(at(sandbox.ServerIssuer)), fault(t, f)))
				timing := sign.Timing{Sleep: f.rest.sleep}
				token := expect.Value(sign.AmbientToken(t.Context(), sign.DefaultClientID, timing))(t)
				expect.Value(sign.Keyless(t.Context(), f.config(), f.FulcioURL, token, time.Now()))(t)
				expect.Is(t, "requests", 2, f.wire.count(tokenRequest))
			})
		})
	}
}

package sign_test

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sigstore/sigstore/pkg/cryptoutils"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/pkg/sign"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// requestFault is a permanent fault of a server that answers one request.
type requestFault struct {
	name    string
	fault   fault
	asked   int // the default is 1
	patient time.Duration
	want    string
}

// A permanent fault of Fulcio stops the batch before anything is logged.
func TestCertificateFaults(t *testing.T) {
	for _, tc := range []requestFault{
		{name: "503 for good", fault: answer(http.StatusServiceUnavailable, `{"message":"down for maintenance"}`), asked: 4,
			want: `it returned 503: {"message":"down for maintenance"} (asked 4 times)`},
		{name: "429 for good", fault: answer(http.StatusTooManyRequests, "slow down"), asked: 4, want: "it returned 429: slow down (asked 4 times)"},
		{name: "429 for an hour", fault: answer(http.StatusTooManyRequests, "slow down", "Retry-After", "3600"),
			want: "it returned 429: slow down (and requests no retry for 1h0m0s)"},
		{name: "403", fault: answer(http.StatusForbidden, "no"), want: "Fulcio returned 403: no"},
		{name: "404", fault: answer(http.StatusNotFound, "page not found"), want: "Fulcio returned 404"},
		{name: "a way to somebody else", fault: answer(http.StatusTemporaryRedirect, "", "Location", "/elsewhere"),
			want: "it returned 307; redirects are not followed"},
		{name: "a page", fault: answer(http.StatusOK, "<html>sign in to the proxy</html>"), want: "invalid character '<'"},
		{name: "empty", fault: answer(http.StatusOK, ""), want: "unexpected end of JSON"},
		{name: "null", fault: answer(http.StatusOK, "null"), want: "no certificates"},
		{name: "no certificate", fault: answer(http.StatusOK, `{"signedCertificateEmbeddedSct":{"chain":{"certificates":[]}}}`), want: "no certificates"},
		{name: "not a certificate", fault: answer(http.StatusOK, `{"signedCertificateEmbeddedSct":{"chain":{"certificates":["x"]}}}`), want: "unable to parse"},
		{name: "too big", fault: tooBig, want: "its answer is larger than 1024 KiB"},
		{name: "cut off", fault: cut, asked: 4, want: "unexpected EOF (asked 4 times)"},
		{name: "hung up", fault: hangUp, asked: 4, want: "EOF (asked 4 times)"},
		{name: "mute", fault: mute, asked: 4, patient: 20 * time.Millisecond, want: "no answer within 20ms (asked 4 times)"},
		{name: "for somebody else's key", fault: forAnotherKey, want: "it is for another key than the one that was sent"},
	} {
		everywhere(t, tc.name, func(t *testing.T, f *fixture) {
			t.Parallel()
			f.wire.meddle(only(at(sandbox.ServerFulcio), tc.fault(t, f)))
			before := f.wire.count(certificateRequest)
			config := f.config()
			config.Timing.Answer = tc.patient
			s, err := sign.Keyless(t.Context(), config, f.FulcioURL, f.token(t, sandbox.Identity{}), time.Now())
			expect.Failure(s, err)(t, tc.want, "certificate from "+f.FulcioURL)
			expect.Is(t, "requests", max(tc.asked, 1), f.wire.count(certificateRequest)-before)
			expect.Is(t, "waits", max(tc.asked, 1)-1, len(f.rest.taken()))
		})
	}
}

// A request that fails once is retried.
func TestCertificateFaultsPass(t *testing.T) {
	for _, tc := range []struct {
		name    string
		fault   fault
		patient time.Duration
		atLeast time.Duration // minimum waiting time
	}{
		{name: "500", fault: answer(http.StatusInternalServerError, "oops")},
		{name: "429", fault: answer(http.StatusTooManyRequests, "", "Retry-After", "7"), atLeast: 7 * time.Second},
		{name: "503", fault: answer(http.StatusServiceUnavailable, "", "Retry-After", "60"), atLeast: time.Minute},
		{name: "cut off", fault: cut},
		{name: "hung up", fault: hangUp},
		{name: "certified and hung up", fault: lost},
		{name: "mute", fault: mute, patient: time.Second},
	} {
		everywhere(t, tc.name, func(t *testing.T, f *fixture) {
			t.Parallel()
			f.wire.meddle(only(firstOf(at(sandbox.ServerFulcio)), tc.fault(t, f)))
			config := f.config()
			config.Timing.Answer = tc.patient
			f.seals(t, f.keyless(t, config), batch(t, 2))
			waits := f.rest.taken()
			if len(waits) != 1 || waits[0] < tc.atLeast+250*time.Millisecond || waits[0] > tc.atLeast+500*time.Millisecond {
				t.Errorf("waited %v, want once and %s and a quarter to a half second", waits, tc.atLeast)
			}
			expect.Equal(t, "requests", 2, f.wire.count(certificateRequest))
		})
	}
}

// The token is used once. Its expiry during the uploads changes nothing, nor does an outage of Fulcio.
func TestTokenEndsHalfWay(t *testing.T) {
	everywhere(t, "", func(t *testing.T, f *fixture) {
		s := f.keyless(t, f.config())
		refuse := answer(http.StatusUnauthorized, "token has expired")(t, f)
		f.wire.meddle(only(func(server string, _ *http.Request) bool {
			return server == sandbox.ServerFulcio || server == sandbox.ServerIssuer
		}, refuse))
		f.seals(t, s, batch(t, 20))
		expect.Is(t, "certificates", 1, f.wire.count(certificateRequest))
	})
}

// forAnotherKey answers with another client's certificate for the same identity.
func forAnotherKey(t *testing.T, f *fixture) hook {
	t.Helper()
	theirs := &recorder{concerned: at(sandbox.ServerFulcio)}
	f.wire.meddle(theirs.hook)
	f.keyless(t, f.config())
	f.wire.forget()
	return theirs.replay
}

// certified is an answer of Fulcio.
type certified struct {
	Embedded struct {
		Chain struct {
			Certificates []string `json:"certificates"`
		} `json:"chain"`
	} `json:"signedCertificateEmbeddedSct"`
}

// forge answers with a certificate by an authority.
func forge(t *testing.T, by *sandbox.Sandbox, w http.ResponseWriter, forgery sandbox.Forgery) {
	der, err := by.ForgeCertificate(t.Context(), forgery)
	expect.NoError(t, err)
	var answer certified
	answer.Embedded.Chain.Certificates = []string{string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

// forged makes an authority certify the requested key, for the identity of the real certificate, which edit may change.
func forged(t *testing.T, by *sandbox.Sandbox, edit func(*x509.Certificate)) hook {
	return func(_ string, next http.Handler, w http.ResponseWriter, r *http.Request) {
		var said certified
		answer := heard(next, r)
		if err := json.Unmarshal(answer.Body.Bytes(), &said); err != nil || len(said.Embedded.Chain.Certificates) == 0 {
			t.Errorf("the true answer: %v: %s", err, answer.Body)
			return
		}
		block, _ := pem.Decode([]byte(said.Embedded.Chain.Certificates[0]))
		true, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Error(err)
			return
		}
		template := &x509.Certificate{NotBefore: true.NotBefore, NotAfter: true.NotAfter, KeyUsage: true.KeyUsage, ExtKeyUsage: true.ExtKeyUsage, URIs: true.URIs}
		for _, extension := range true.Extensions {
			// Fulcio's own extensions; the new authority sets the others.
			if strings.HasPrefix(extension.Id.String(), "1.3.6.1.4.1.57264.1.") {
				template.ExtraExtensions = append(template.ExtraExtensions, pkix.Extension{Id: extension.Id, Value: extension.Value})
			}
		}
		edit(template)
		forge(t, by, w, sandbox.Forgery{Template: template, PublicKey: true.PublicKey})
	}
}

// issuedBy is Fulcio's extension with the issuer of the token.
func issuedBy(issuer string) []pkix.Extension {
	return []pkix.Extension{{Id: []int{1, 3, 6, 1, 4, 1, 57264, 1, 1}, Value: []byte(issuer)}}
}

// A certificate for the right key and another identity is rejected, although an authority of the
// trusted root issued it.
func TestCertificateForAnotherIdentity(t *testing.T) {
	f := start(t)
	for _, tc := range []struct {
		name string
		edit func(*x509.Certificate)
		want string
	}{
		{"another workflow", func(c *x509.Certificate) {
			c.URIs = []*url.URL{{Scheme: "https", Host: "github.com", Path: "/mallory/fork/.github/workflows/merge.yaml@refs/heads/main"}}
		}, `it is for "https://github.com/mallory/fork/.github/workflows/merge.yaml@refs/heads/main", and the token for the workflow "acme/exceptions/`},
		{"a person", func(c *x509.Certificate) { c.URIs, c.EmailAddresses = nil, []string{"mallory@example.com"} }, `it is for "mallory@example.com", and the token`},
		{"another issuer", func(c *x509.Certificate) { c.ExtraExtensions = issuedBy("https://issuer.example.com") },
			`it is for an identity of "https://issuer.example.com", and the token is of "http://`},
		{"nobody", func(c *x509.Certificate) { c.URIs = nil }, "it has no subject alternative name"},
		{"two names", func(c *x509.Certificate) { c.EmailAddresses = []string{"mallory@example.com"} }, "it has 2 subject alternative names"},
		{"itself", func(*x509.Certificate) {}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f.wire.meddle(only(at(sandbox.ServerFulcio), forged(t, f.Sandbox, tc.edit)))
			s, err := sign.Keyless(t.Context(), f.config(), f.FulcioURL, f.token(t, sandbox.Identity{}), time.Now())
			if tc.want == "" { // so that the others are rejected because of their change
				must.Do(t, err)
				f.seals(t, s, batch(t, 1))
				return
			}
			expect.Failure(s, err)(t, "certificate from "+f.FulcioURL, tc.want)
		})
	}
}

// A person's certificate names the person and the issuer in the token, or the upstream issuer.
func TestCertificateForAnotherPerson(t *testing.T) {
	f := start(t)
	const issuer, github = "https://oauth2.example.com/auth", "https://github.com/login/oauth"
	for _, tc := range []struct{ name, email, issuer, want string }{
		{"herself", "alice@example.com", issuer, ""},
		{"herself, by way of another", "alice@example.com", github, ""},
		{"somebody else", "mallory@example.com", issuer, `it is for "mallory@example.com", and the token for "alice@example.com"`},
		{"by way of nobody", "alice@example.com", "https://accounts.example.com", `it is for an identity of "https://accounts.example.com"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f.wire.meddle(only(at(sandbox.ServerFulcio), func(_ string, _ http.Handler, w http.ResponseWriter, r *http.Request) {
				var asked struct {
					PublicKeyRequest struct{ PublicKey struct{ Content string } }
				}
				expect.NoError(t, json.NewDecoder(r.Body).Decode(&asked))
				key, err := cryptoutils.UnmarshalPEMToPublicKey([]byte(asked.PublicKeyRequest.PublicKey.Content))
				expect.NoError(t, err)
				forge(t, f.Sandbox, w, sandbox.Forgery{PublicKey: key, Template: &x509.Certificate{EmailAddresses: []string{tc.email},
					NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Minute), ExtraExtensions: issuedBy(tc.issuer)}})
			}))
			claims := must.Get(json.Marshal(map[string]any{
				"iss": issuer, "sub": "alice", "email": "alice@example.com", "email_verified": true,
				"federated_claims": map[string]any{"connector_id": github}}))(t)
			token := "e30." + base64.RawURLEncoding.EncodeToString(claims) + ".AAAA"
			s, err := sign.Keyless(t.Context(), f.config(), f.FulcioURL, token, time.Now())
			if tc.want == "" {
				expect.That(t, err == nil && s.Identity().Subject == tc.email, "Keyless: %v", err)
				return
			}
			expect.Failure(s, err)(t, tc.want)
		})
	}
}

// A certificate with the right content by an authority that is not trusted.
func TestCertificateOfAStranger(t *testing.T) {
	stranger := start(t)
	everywhere(t, "", func(t *testing.T, f *fixture) {
		f.wire.meddle(only(at(sandbox.ServerFulcio), forged(t, stranger.Sandbox, func(*x509.Certificate) {})))
		s := f.keyless(t, f.config())
		refused(s.Seal(t.Context(), batch(t, 2), time.Now()))(t, verify.ReasonUntrustedCertificate)
	})
}

const tokenRequest = "issuer GET /token"

// asActions sets the environment of a GitHub Actions job, with that address for tokens.
func asActions(t *testing.T, address, bearer string) {
	t.Helper()
	t.Setenv("ACTIONS_ID_TOKEN_REQUEST_URL", address)
	t.Setenv("ACTIONS_ID_TOKEN_REQUEST_TOKEN", bearer)
}

// A fault of the token endpoint is reported as such, and its answer is not used as a token.
func TestTokenFaults(t *testing.T) {
	for _, tc := range []requestFault{
		{name: "503 for good", fault: answer(http.StatusServiceUnavailable, "unavailable"), asked: 4, want: "it returned 503: unavailable (asked 4 times)"},
		{name: "503 that looks like a token", fault: answer(http.StatusServiceUnavailable, `{"value":"a.b.c"}`), asked: 4, want: "it returned 503"},
		{name: "429 for an hour", fault: answer(http.StatusTooManyRequests, "", "Retry-After", "3600"), want: "requests no retry for 1h0m0s"},
		{name: "403", fault: answer(http.StatusForbidden, `{"message":"no id-token permission"}`), want: "no id-token permission"},
		{name: "a way to somebody else", fault: answer(http.StatusFound, "", "Location", "/elsewhere"), want: "redirects are not followed"},
		{name: "a page", fault: answer(http.StatusOK, "<html>sign in"), want: "its answer holds no token"},
		{name: "nothing", fault: answer(http.StatusOK, "{}"), want: "its answer holds no token"},
		{name: "too big", fault: tooBig, want: "its answer is larger than 1024 KiB"},
		{name: "cut off", fault: cut, asked: 4, want: "unexpected EOF (asked 4 times)"},
		{name: "mute", fault: mute, asked: 4, patient: 20 * time.Millisecond, want: "no answer within 20ms (asked 4 times)"},
	} {
		everywhere(t, tc.name, func(t *testing.T, f *fixture) {
			asActions(t, f.TokenRequestURL, f.TokenRequestToken)
			f.wire.meddle(only(at(sandbox.ServerIssuer), tc.fault(t, f)))
			token, err := sign.AmbientToken(t.Context(), sign.DefaultClientID, sign.Timing{Answer: tc.patient, Sleep: f.rest.sleep})
			expect.Failure(token, err)(t, "identity token of GitHub Actions: ", tc.want)
			expect.That(t, err == nil || !strings.Contains(err.Error(), f.TokenRequestToken),
				"the error repeats the bearer")
			expect.Is(t, "ErrNoToken", false, errors.Is(err, sign.ErrNoToken)) // an endpoint that fails is one
			expect.Is(t, "requests", max(tc.asked, 1), f.wire.count(tokenRequest))
		})
	}
}

// A failed request to the token endpoint is retried.
func TestTokenFaultsPass(t *testing.T) {
	for name, fault := range map[string]fault{"500": answer(http.StatusInternalServerError, ""), "429": answer(http.StatusTooManyRequests, ""),
		"hung up": hangUp, "cut off": cut} {
		everywhere(t, name, func(t *testing.T, f *fixture) {
			asActions(t, f.TokenRequestURL, f.TokenRequestToken)
			f.wire.meddle(only(firstOf(at(sandbox.ServerIssuer)), fault(t, f)))
			timing := sign.Timing{Sleep: f.rest.sleep}
			token := must.Get(sign.AmbientToken(t.Context(), sign.DefaultClientID, timing))(t)
			must.Get(sign.Keyless(t.Context(), f.config(), f.FulcioURL, token, time.Now()))(t)
			expect.Is(t, "requests", 2, f.wire.count(tokenRequest))
		})
	}
}

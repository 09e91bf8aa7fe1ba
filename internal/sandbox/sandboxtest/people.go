package sandboxtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// personEmail is the only identity of the issuer for people. It has no password.
const personEmail = "person@example.com"

const personLifetime = 5 * time.Minute

// People is an OpenID provider for people, for the tests of a sign-in: the authorization code flow
// with PKCE (RFC 7636) and the device flow (RFC 8628). Every request for the page signs in. A
// sandbox trusts it by sandbox.Options.People.
type People struct {
	URL string // of the issuer

	server *httptest.Server
	signer jose.Signer

	mu      sync.Mutex
	pending map[string]*signIn // by code
}

// StartPeople starts a provider on loopback. The caller must close it.
func StartPeople() (*People, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate token key: %w", err)
	}
	public := jose.JSONWebKey{Key: key.Public(), KeyID: "people", Algorithm: string(jose.ES256), Use: "sig"}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key},
		(&jose.SignerOptions{}).WithType("JWT").WithHeader("kid", public.KeyID))
	if err != nil {
		return nil, fmt.Errorf("load token key: %w", err)
	}
	mux := http.NewServeMux()
	p := &People{server: httptest.NewServer(mux), signer: signer, pending: map[string]*signIn{}}
	p.URL = p.server.URL
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]any{
			"issuer": p.URL, "jwks_uri": p.URL + "/jwks", "subject_types_supported": []string{"public"},
			"authorization_endpoint": p.URL + "/auth", "token_endpoint": p.URL + "/token",
			"device_authorization_endpoint":    p.URL + "/device/code",
			"code_challenge_methods_supported": []string{"S256"}, "response_types_supported": []string{"code"},
			"id_token_signing_alg_values_supported": []string{string(jose.ES256)},
			"scopes_supported":                      []string{"openid", "email"},
		})
	})
	mux.HandleFunc("GET /jwks", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{public}})
	})
	mux.HandleFunc("GET /auth", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	mux.HandleFunc("POST /device/code", p.deviceCode)
	mux.HandleFunc("GET /device", p.approve)
	return p, nil
}

// Close stops the provider.
func (p *People) Close() error {
	p.server.Close()
	return nil
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client has gone
}

// signIn is a sign-in in progress.
type signIn struct {
	challenge, nonce, client string
	userCode                 string // device flow only
	approved                 bool
}

// begin stores a sign-in and returns its code.
func (p *People) begin(s *signIn) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	code := rand.Text()
	p.pending[code] = s
	return code
}

// authorize is the page for the browser. It redirects immediately to the given loopback address.
func (p *People) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	back, err := url.Parse(q.Get("redirect_uri"))
	if err != nil || back.Scheme != "http" || (back.Hostname() != "localhost" && back.Hostname() != "127.0.0.1") {
		http.Error(w, "redirect_uri does not lead to this machine", http.StatusBadRequest)
		return
	}
	if q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || q.Get("code_challenge") == "" {
		http.Error(w, "only the code flow with an S256 challenge is known", http.StatusBadRequest)
		return
	}
	code := p.begin(&signIn{challenge: q.Get("code_challenge"), nonce: q.Get("nonce"), client: q.Get("client_id"), approved: true})
	answer := back.Query()
	answer.Set("code", code)
	answer.Set("state", q.Get("state"))
	back.RawQuery = answer.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

func (p *People) deviceCode(w http.ResponseWriter, r *http.Request) {
	s := &signIn{challenge: r.PostFormValue("code_challenge"), client: r.PostFormValue("client_id"), userCode: rand.Text()[:8]}
	code := p.begin(s)
	page := p.URL + "/device"
	writeJSON(w, http.StatusOK, map[string]any{
		"device_code": code, "user_code": s.userCode, "interval": 1, "expires_in": int(personLifetime.Seconds()),
		"verification_uri": page, "verification_uri_complete": page + "?user_code=" + s.userCode,
	})
}

// approve is the page for the person in the device flow.
func (p *People) approve(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.pending {
		if s.userCode != "" && s.userCode == r.URL.Query().Get("user_code") {
			s.approved = true
			_, _ = fmt.Fprintln(w, "Signed in as "+personEmail+".")
			return
		}
	}
	http.Error(w, "there is no such code", http.StatusNotFound)
}

func (p *People) token(w http.ResponseWriter, r *http.Request) {
	code := r.PostFormValue("code")
	if r.PostFormValue("grant_type") == "urn:ietf:params:oauth:grant-type:device_code" {
		code = r.PostFormValue("device_code")
	}
	p.mu.Lock()
	s := p.pending[code]
	if s != nil && s.approved {
		delete(p.pending, code) // a code is valid once
	}
	p.mu.Unlock()
	switch {
	case s == nil:
		writeJSON(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant"})
	case !s.approved:
		writeJSON(w, http.StatusBadRequest, map[string]string{"error": "authorization_pending"})
	case !s.provedBy(r.PostFormValue("code_verifier")):
		writeJSON(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant"})
	default:
		p.answer(w, s)
	}
}

// provedBy checks the PKCE verifier (RFC 7636, 4.6).
func (s *signIn) provedBy(verifier string) bool {
	digest := sha256.Sum256([]byte(verifier))
	return strings.TrimRight(s.challenge, "=") == base64.RawURLEncoding.EncodeToString(digest[:])
}

func (p *People) answer(w http.ResponseWriter, s *signIn) {
	now := time.Now()
	claims := map[string]any{
		"iss": p.URL, "sub": "person", "aud": s.client, "iat": now.Unix(), "exp": now.Add(personLifetime).Unix(),
		"email": personEmail, "email_verified": true,
	}
	if s.nonce != "" {
		claims["nonce"] = s.nonce
	}
	token, err := jwt.Signed(p.signer).Claims(claims).Serialize()
	if err != nil {
		writeJSON(w, http.StatusInternalServerError, map[string]string{"error": "server_error"})
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"id_token": token, "access_token": rand.Text(), "token_type": "Bearer", "expires_in": int(personLifetime.Seconds()),
	})
}

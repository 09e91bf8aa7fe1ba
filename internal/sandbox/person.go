package sandbox

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// PersonEmail is the only identity of the sandbox's issuer for people. It has no password.
const PersonEmail = "person@example.com"

const (
	personPath     = "/person"
	personPending  = 64 // maximum number of concurrent sign-ins
	personLifetime = 5 * time.Minute
)

// person is an OpenID provider for people: the authorization code flow with PKCE (RFC 7636) and the
// device flow (RFC 8628). Every request for the page signs in.
type person struct {
	url    string
	signer jose.Signer

	mu      sync.Mutex
	pending map[string]*signIn // by code
}

// signIn is a sign-in in progress.
type signIn struct {
	challenge, nonce, client string
	userCode                 string // device flow only
	approved                 bool
}

func (p *person) discovery(document map[string]any) {
	document["authorization_endpoint"] = p.url + "/auth"
	document["token_endpoint"] = p.url + "/token"
	document["device_authorization_endpoint"] = p.url + "/device/code"
	document["code_challenge_methods_supported"] = []string{"S256"}
	document["response_types_supported"] = []string{"code"}
	document["scopes_supported"] = []string{"openid", "email"}
}

func (p *person) routes(mux *http.ServeMux) {
	mux.HandleFunc("GET "+personPath+"/auth", p.authorize)
	mux.HandleFunc("POST "+personPath+"/token", p.token)
	mux.HandleFunc("POST "+personPath+"/device/code", p.deviceCode)
	mux.HandleFunc("GET "+personPath+"/device", p.approve)
}

// begin stores a sign-in and returns its code, or "" if there are too many.
func (p *person) begin(s *signIn) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.pending) >= personPending {
		return ""
	}
	if p.pending == nil {
		p.pending = map[string]*signIn{}
	}
	code := rand.Text()
	p.pending[code] = s
	return code
}

// authorize is the page for the browser. It redirects immediately to the given loopback address.
func (p *person) authorize(w http.ResponseWriter, r *http.Request) {
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
	if code == "" {
		http.Error(w, "too many sign-ins are under way", http.StatusTooManyRequests)
		return
	}
	answer := back.Query()
	answer.Set("code", code)
	answer.Set("state", q.Get("state"))
	back.RawQuery = answer.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

func (p *person) deviceCode(w http.ResponseWriter, r *http.Request) {
	s := &signIn{challenge: r.PostFormValue("code_challenge"), client: r.PostFormValue("client_id"), userCode: rand.Text()[:8]}
	code := p.begin(s)
	if code == "" {
		writeJSON(w, http.StatusTooManyRequests, map[string]string{"error": "slow_down"})
		return
	}
	page := p.url + "/device"
	writeJSON(w, http.StatusOK, map[string]any{
		"device_code": code, "user_code": s.userCode, "interval": 1, "expires_in": int(personLifetime.Seconds()),
		"verification_uri": page, "verification_uri_complete": page + "?user_code=" + s.userCode,
	})
}

// approve is the page for the person in the device flow.
func (p *person) approve(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.pending {
		if s.userCode != "" && s.userCode == r.URL.Query().Get("user_code") {
			s.approved = true
			_, _ = fmt.Fprintln(w, "Signed in as "+PersonEmail+".")
			return
		}
	}
	http.Error(w, "there is no such code", http.StatusNotFound)
}

func (p *person) token(w http.ResponseWriter, r *http.Request) {
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

func (p *person) answer(w http.ResponseWriter, s *signIn) {
	now := time.Now()
	claims := map[string]any{
		"iss": p.url, "sub": "person", "aud": s.client, "iat": now.Unix(), "exp": now.Add(personLifetime).Unix(),
		"email": PersonEmail, "email_verified": true,
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

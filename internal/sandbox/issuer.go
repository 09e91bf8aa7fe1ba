package sandbox

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// Paths below the issuer's address. The token URL has a query like GitHub's: clients append to it.
const (
	tokenPath    = "/token"
	tokenQuery   = "?api-version=2.0"
	mintPath     = "/sandbox/token"
	otherPath    = "/other"
	discoveryURI = "/.well-known/openid-configuration"
)

// issuer is the OpenID provider: it signs tokens and publishes the key that verifies them.
type issuer struct {
	url           string
	identity      Identity // the identity of requested tokens
	requestToken  string   // bearer token of the request endpoint
	controlSecret string   // bearer token of the endpoint that mints any identity
	signer        jose.Signer
	keys          jose.JSONWebKeySet
}

// newIssuer creates the signing key. It is ECDSA, while GitHub uses RSA. Fulcio accepts both, and
// an RSA key would need most of the start time of a sandbox.
func newIssuer(url string, id Identity) (*issuer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate token key: %w", err)
	}
	const keyID = "polex-sandbox"
	signer, err := jose.NewSigner(
		jose.SigningKey{Algorithm: jose.ES256, Key: key},
		(&jose.SignerOptions{}).WithType("JWT").WithHeader("kid", keyID),
	)
	if err != nil {
		return nil, fmt.Errorf("load token key: %w", err)
	}
	return &issuer{
		url:           url,
		identity:      id,
		requestToken:  rand.Text(),
		controlSecret: rand.Text(),
		signer:        signer,
		keys: jose.JSONWebKeySet{Keys: []jose.JSONWebKey{
			{Key: key.Public(), KeyID: keyID, Algorithm: string(jose.ES256), Use: "sig"},
		}},
	}, nil
}

// mint signs a token for id. Empty fields take the values of the sandbox's identity.
func (is *issuer) mint(id Identity, audience string) (string, error) {
	id = id.over(is.identity).withDefaults()
	if id.Issuer == "" {
		id.Issuer = is.url
	}
	if err := id.Validate(); err != nil {
		return "", err
	}
	token, err := jwt.Signed(is.signer).Claims(id.claims(audience, time.Now())).Serialize()
	if err != nil {
		return "", fmt.Errorf("sign token: %w", err)
	}
	return token, nil
}

func (is *issuer) handler() http.Handler {
	mux := http.NewServeMux()
	for _, prefix := range []string{"", otherPath} {
		mux.HandleFunc("GET "+prefix+discoveryURI, serveDocument(is.discovery(is.url+prefix)))
	}
	mux.HandleFunc("GET /jwks", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, is.keys) })
	mux.HandleFunc("GET "+tokenPath, is.serveToken)
	mux.HandleFunc("POST "+mintPath, is.serveMint)
	return mux
}

func (is *issuer) discovery(url string) map[string]any {
	return map[string]any{
		"issuer":                                url,
		"jwks_uri":                              is.url + "/jwks",
		"subject_types_supported":               []string{"public"},
		"response_types_supported":              []string{"id_token"},
		"id_token_signing_alg_values_supported": []string{string(jose.ES256)},
		"scopes_supported":                      []string{"openid"},
	}
}

func serveDocument(document map[string]any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, document) }
}

// serveToken is GitHub's endpoint: a job requests a token for an audience. The identity is fixed.
func (is *issuer) serveToken(w http.ResponseWriter, r *http.Request) {
	if !bearerIs(r, is.requestToken) {
		writeJSON(w, http.StatusUnauthorized, map[string]string{"message": "the bearer is not ACTIONS_ID_TOKEN_REQUEST_TOKEN"})
		return
	}
	is.answer(w, Identity{}, r.URL.Query().Get("audience"))
}

// serveMint mints a token for any identity. It requires the secret in the sandbox's folder.
func (is *issuer) serveMint(w http.ResponseWriter, r *http.Request) {
	if !bearerIs(r, is.controlSecret) {
		writeJSON(w, http.StatusUnauthorized, map[string]string{"message": "the bearer is not the sandbox's secret"})
		return
	}
	var request mintRequest
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		writeJSON(w, http.StatusBadRequest, map[string]string{"message": "the request is not JSON: " + err.Error()})
		return
	}
	is.answer(w, request.Identity, request.Audience)
}

func (is *issuer) answer(w http.ResponseWriter, id Identity, audience string) {
	token, err := is.mint(id, audience)
	if err != nil {
		writeJSON(w, http.StatusBadRequest, map[string]string{"message": err.Error()})
		return
	}
	writeJSON(w, http.StatusOK, tokenResponse{Value: token})
}

// bearerIs compares in constant time, because every user of the machine can reach the ports. The
// scheme is case-insensitive (RFC 9110, section 11.1).
func bearerIs(r *http.Request, secret string) bool {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	return ok && strings.EqualFold(scheme, "bearer") && subtle.ConstantTimeCompare([]byte(token), []byte(secret)) == 1
}

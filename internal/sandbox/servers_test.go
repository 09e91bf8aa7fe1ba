package sandbox_test

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/digitorus/timestamp"
	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	ct "github.com/google/certificate-transparency-go"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/sign"
	"github.com/sigstore/sigstore/pkg/cryptoutils"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

func certify(t *testing.T, s *sandbox.Sandbox, token string) error {
	t.Helper()
	keypair := must.Get(sign.NewEphemeralKeypair(nil))(t)
	_, err := sign.NewFulcio(&sign.FulcioOptions{BaseURL: s.FulcioURL}).
		GetCertificate(t.Context(), keypair, &sign.CertificateProviderOptions{IDToken: token})
	return err
}

func TestFulcioRefuses(t *testing.T) {
	s := start(t, sandbox.Options{})
	other := start(t, sandbox.Options{})
	good := mint(t, s, sandbox.Identity{})
	must.Do(t, certify(t, s, good))
	// The same claims with the signature of another token.
	parts := strings.Split(good, ".")
	foreign := strings.Split(mint(t, s, sandbox.Identity{Ref: "refs/heads/dev"}), ".")
	for name, token := range map[string]string{
		"expired":                 mint(t, s, sandbox.Identity{TokenLifetime: -time.Minute}),
		"for another client":      must.Get(s.Token(sandbox.Identity{}, "somebody-else"))(t),
		"of another sandbox":      mint(t, other, sandbox.Identity{}),
		"claims our issuer":       mint(t, other, sandbox.Identity{Issuer: s.IssuerURL}),
		"names an unknown issuer": mint(t, s, sandbox.Identity{Issuer: "https://token.actions.githubusercontent.com"}),
		"signature swapped":       parts[0] + "." + parts[1] + "." + foreign[2],
		"claims swapped":          parts[0] + "." + foreign[1] + "." + parts[2],
		"unsigned":                base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + parts[1] + ".",
	} {
		t.Run(name, func(t *testing.T) { expect.Error(t, certify(t, s, token), "Fulcio returned 400") })
	}
}

// The requester must prove possession of the key: the key signs the subject of the token.
func TestFulcioWantsPossession(t *testing.T) {
	s := start(t, sandbox.Options{})
	mine, theirs := newSigner(t), newSigner(t)
	digest := sha256.Sum256([]byte("repo:acme/exceptions:ref:refs/heads/main"))
	proof := must.Get(mine.key.Sign(rand.Reader, digest[:], crypto.SHA256))(t)
	for _, tc := range []struct {
		name string
		key  []byte
		want int
	}{
		{"own key", mine.public, http.StatusOK},
		{"another's key", theirs.public, http.StatusBadRequest},
	} {
		status, _, answer := requestCertificate(t, s, "/api/v2/signingCert", map[string]any{"publicKeyRequest": map[string]any{
			"publicKey":         map[string]string{"algorithm": "ECDSA", "content": string(tc.key)},
			"proofOfPossession": proof,
		}})
		expect.That(t, status == tc.want, "%s: status %d, want %d: %s", tc.name, status, tc.want, answer)
	}
}

func requestCertificate(t *testing.T, s *sandbox.Sandbox, path string, request map[string]any) (int, http.Header, []byte) {
	t.Helper()
	header := http.Header{"Authorization": {"Bearer " + mint(t, s, sandbox.Identity{})}, "Content-Type": {"application/json"}}
	return send(t, http.MethodPost, s.FulcioURL+path, header, bytes.NewReader(must.Get(json.Marshal(request))(t)))
}

func TestFulcioDescribesItself(t *testing.T) {
	s := start(t, sandbox.Options{})
	var bundle struct {
		Chains []struct{ Certificates []string }
	}
	_, _, answer := send(t, http.MethodGet, s.FulcioURL+"/api/v2/trustBundle", nil, nil)
	must.Do(t, json.Unmarshal(answer, &bundle))
	must.That(t, len(bundle.Chains) == 1 && len(bundle.Chains[0].Certificates) == 2,
		"trust bundle %s, want one chain of two", answer)
	trusted := readFile(t, s.TrustedRootPath)
	for _, certificate := range bundle.Chains[0].Certificates {
		parsed := must.Get(cryptoutils.UnmarshalCertificatesFromPEM([]byte(certificate)))(t)
		expect.Contains(t, trusted, base64.StdEncoding.EncodeToString(parsed[0].Raw))
	}
	_, _, answer = send(t, http.MethodGet, s.FulcioURL+"/api/v2/configuration", nil, nil)
	expect.Contains(t, string(answer), s.IssuerURL, s.OtherIssuerURL, `"audience":"sigstore"`)
	status, _, answer := send(t, http.MethodGet, s.FulcioURL+"/api/v1/rootCert", nil, nil)
	expect.That(t, status == http.StatusOK && strings.Contains(string(answer), "BEGIN CERTIFICATE"),
		"version 1 root: status %d, %s", status, answer)
}

// Older clients use version 1: status 201, and the chain as PEM.
func TestFulcioVersion1(t *testing.T) {
	s := start(t, sandbox.Options{})
	keypair := must.Get(sign.NewEphemeralKeypair(nil))(t)
	proof, _, err := keypair.SignData(t.Context(), []byte("repo:acme/exceptions:ref:refs/heads/main"))
	must.Do(t, err)
	public := must.Get(cryptoutils.MarshalPublicKeyToDER(keypair.GetPublicKey()))(t)
	status, header, answer := requestCertificate(t, s, "/api/v1/signingCert", map[string]any{
		"publicKey":          map[string]any{"content": public, "algorithm": "ecdsa"},
		"signedEmailAddress": proof,
	})
	must.That(t, status == http.StatusCreated, "status %d, want 201: %s", status, answer)
	chain, err := cryptoutils.UnmarshalCertificatesFromPEM(answer)
	must.That(t, err == nil && len(chain) == 3, "%d certificates, %v; want leaf, intermediate and root", len(chain), err)
	expect.Is(t, "subject", (sandbox.Identity{}).Subject(), chain[0].URIs[0].String())
	for name := range header {
		expect.That(t, !strings.HasPrefix(name, "Grpc-"), "header %s leaks", name)
	}
}

func TestTimestampsVerify(t *testing.T) {
	s := start(t, sandbox.Options{})
	trusted := must.Get(root.NewTrustedRootFromPath(s.TrustedRootPath))(t)
	text := []byte("stamp me")
	header := http.Header{"Content-Type": {"application/timestamp-query"}}
	for _, hash := range []crypto.Hash{crypto.SHA256, crypto.SHA512} {
		for _, certificates := range []bool{false, true} {
			query := must.Get(timestamp.CreateRequest(bytes.NewReader(text), &timestamp.RequestOptions{Hash: hash,
				Certificates: certificates}))(t)
			status, _, answer := send(t, http.MethodPost, s.TimestampURL, header, bytes.NewReader(query))
			must.That(t, status == http.StatusCreated, "status %d: %s", status, answer)
			_, err := trusted.TimestampingAuthorities()[0].Verify(answer, text)
			expect.That(t, err == nil, "%v, certificates %t: %v", hash, certificates, err)
			_, err = trusted.TimestampingAuthorities()[0].Verify(answer, []byte("another"))
			expect.That(t, err != nil, "%v: verified for another text", hash)
		}
	}
	weak := must.Get(timestamp.CreateRequest(bytes.NewReader(text), &timestamp.RequestOptions{Hash: crypto.SHA1}))(t)
	for name, tc := range map[string]struct {
		header http.Header
		body   []byte
		want   int
	}{
		"weak hash":      {header, weak, http.StatusBadRequest},
		"nonsense":       {header, []byte("nonsense"), http.StatusBadRequest},
		"another format": {http.Header{"Content-Type": {"application/json"}}, weak, http.StatusUnsupportedMediaType},
	} {
		status, _, _ := send(t, http.MethodPost, s.TimestampURL, tc.header, bytes.NewReader(tc.body))
		expect.That(t, status == tc.want, "%s: status %d, want %d", name, status, tc.want)
	}
}

// The log accepts only certificates of its own authority.
func TestCTLogRefuses(t *testing.T) {
	s, other := start(t, sandbox.Options{}), start(t, sandbox.Options{})
	foreign := seal(t, other, mint(t, other, sandbox.Identity{}), "x").GetVerificationMaterial().GetCertificate().GetRawBytes()
	final := seal(t, s, mint(t, s, sandbox.Identity{}), "x").GetVerificationMaterial().GetCertificate().GetRawBytes()
	for name, tc := range map[string]struct {
		path  string
		chain [][]byte
	}{
		"empty chain":          {ct.AddChainPath, nil},
		"not a certificate":    {ct.AddChainPath, [][]byte{[]byte("nonsense")}},
		"another authority":    {ct.AddChainPath, [][]byte{foreign}},
		"not a precertificate": {ct.AddPreChainPath, [][]byte{final}},
	} {
		body := must.Get(json.Marshal(ct.AddChainRequest{Chain: tc.chain}))(t)
		status, _, answer := send(t, http.MethodPost, s.CTLogURL+tc.path, nil, bytes.NewReader(body))
		expect.That(t, status == http.StatusBadRequest, "%s: status %d, want 400: %s", name, status, answer)
	}
}

// claimsOf verifies the token with the issuer's published key and returns its claims.
func claimsOf(t *testing.T, s *sandbox.Sandbox, token string) map[string]any {
	t.Helper()
	_, _, answer := send(t, http.MethodGet, s.IssuerURL+"/jwks", nil, nil)
	var keys jose.JSONWebKeySet
	must.Do(t, json.Unmarshal(answer, &keys))
	parsed := must.Get(jwt.ParseSigned(token, []jose.SignatureAlgorithm{jose.ES256}))(t)
	var claims map[string]any
	must.Do(t, parsed.Claims(keys, &claims))
	return claims
}

func TestTokenEndpoint(t *testing.T) {
	s := start(t, sandbox.Options{})
	url := s.TokenRequestURL + "&audience=sigstore"
	for _, scheme := range []string{"bearer", "Bearer"} {
		status, _, answer := send(t, http.MethodGet, url, http.Header{"Authorization": {scheme + " " + s.TokenRequestToken}}, nil)
		var got struct{ Value string }
		must.That(t, json.Unmarshal(answer, &got) == nil && status == http.StatusOK,
			"%s: status %d, %s", scheme, status, answer)
		claims := claimsOf(t, s, got.Value)
		for _, name := range []string{"iat", "nbf", "exp", "jti"} {
			expect.That(t, claims[name] != nil, "claim %s is missing", name)
			delete(claims, name)
		}
		const sha = "5a0db0c0ffee5a0db0c0ffee5a0db0c0ffee5a0d"
		const workflow = "acme/exceptions/.github/workflows/merge.yaml@refs/heads/main"
		want := map[string]any{
			"iss": s.IssuerURL, "aud": "sigstore", "sub": "repo:acme/exceptions:ref:refs/heads/main",
			"actor": "octocat", "actor_id": "3001", "base_ref": "", "head_ref": "",
			"event_name": "push", "job_workflow_ref": workflow, "job_workflow_sha": sha,
			"ref": "refs/heads/main", "ref_protected": "true", "ref_type": "branch",
			"repository": "acme/exceptions", "repository_id": "1001",
			"repository_owner": "acme", "repository_owner_id": "2001", "repository_visibility": "private",
			"run_attempt": "1", "run_id": "4001", "run_number": "1", "runner_environment": "github-hosted",
			"sha": sha, "workflow": "Merge", "workflow_ref": workflow, "workflow_sha": sha,
		}
		expect.Equal(t, "claims", want, claims)
	}
	for name, header := range map[string]http.Header{
		"no bearer":       nil,
		"wrong bearer":    {"Authorization": {"bearer nonsense"}},
		"empty bearer":    {"Authorization": {"bearer "}},
		"another scheme":  {"Authorization": {"basic " + s.TokenRequestToken}},
		"nothing but it":  {"Authorization": {s.TokenRequestToken}},
		"trailing letter": {"Authorization": {"bearer " + s.TokenRequestToken + "x"}},
	} {
		status, _, _ := send(t, http.MethodGet, url, header, nil)
		expect.That(t, status == http.StatusUnauthorized, "%s: status %d, want 401", name, status)
	}
	// The bearer token of every job does not give access to the endpoint for any identity.
	status, _, _ := send(t, http.MethodPost, s.IssuerURL+"/sandbox/token",
		http.Header{"Authorization": {"bearer " + s.TokenRequestToken}}, strings.NewReader(`{}`))
	expect.Is(t, "mint endpoint: status", http.StatusUnauthorized, status)
}

func TestTokenLaysOverTheSandboxsIdentity(t *testing.T) {
	s := start(t, sandbox.Options{Identity: sandbox.Identity{
		Repository: "acme/waivers", RepositoryID: "77", WorkflowFile: ".github/workflows/seal.yaml", EventName: "schedule",
	}})
	for _, tc := range []struct {
		name string
		id   sandbox.Identity
		want map[string]any
	}{
		{"nothing", sandbox.Identity{}, map[string]any{
			"repository": "acme/waivers", "repository_id": "77", "event_name": "schedule",
			"job_workflow_ref": "acme/waivers/.github/workflows/seal.yaml@refs/heads/main"}},
		{"ref", sandbox.Identity{Ref: "refs/tags/v1"}, map[string]any{
			"repository_id": "77", "event_name": "schedule", "ref_type": "tag",
			"job_workflow_ref": "acme/waivers/.github/workflows/seal.yaml@refs/tags/v1"}},
		{"repository", sandbox.Identity{Repository: "mallory/waivers"}, map[string]any{
			"repository_owner": "mallory", "event_name": "schedule",
			"job_workflow_ref": "mallory/waivers/.github/workflows/seal.yaml@refs/heads/main"}},
		{"pull request", sandbox.Identity{EventName: "pull_request"}, map[string]any{"sub": "repo:acme/waivers:pull_request"}},
		{"environment", sandbox.Identity{Environment: "prod"}, map[string]any{"sub": "repo:acme/waivers:environment:prod", "environment": "prod"}},
		{"immutable subject", sandbox.Identity{ImmutableSubject: true, RepositoryOwnerID: "42"}, map[string]any{"sub": "repo:acme@42/waivers@77:ref:refs/heads/main", "repository": "acme/waivers"}},
		{"immutable subject with an environment", sandbox.Identity{ImmutableSubject: true, RepositoryOwnerID: "42", Environment: "prod"}, map[string]any{"sub": "repo:acme@42/waivers@77:environment:prod"}},
	} {
		claims := claimsOf(t, s, mint(t, s, tc.id))
		for name, want := range tc.want {
			expect.Is(t, tc.name+": claim "+name, want, claims[name])
		}
		if tc.id.Repository != "" && (claims["repository_id"] == "77" || claims["repository_owner_id"] == "2001") {
			t.Errorf("%s: another repository has our numbers", tc.name)
		}
	}
}

func TestRequestToken(t *testing.T) {
	s := start(t, sandbox.Options{})
	token := must.Get(sandbox.RequestToken(t.Context(), s.Dir, sandbox.Identity{Ref: "refs/heads/dev",
		TokenLifetime: -time.Hour}, "me"))(t)
	claims := claimsOf(t, s, token)
	expect.That(t, claims["ref"] == "refs/heads/dev" && claims["aud"] == "me", "claims %v", claims)
	age := time.Since(time.Unix(int64(claims["exp"].(float64)), 0))
	expect.That(t, age >= time.Hour, "token has been expired for %s, want an hour", age)
	expect.That(t, claims["iat"].(float64) < claims["exp"].(float64), "token was never good")
	expect.Failure(sandbox.RequestToken(t.Context(), s.Dir, sandbox.Identity{Ref: "dev"}, "me"))(t, "refs/")
	// First after Close, then after a crash that leaves the file.
	must.Do(t, s.Close())
	_, err := sandbox.RequestToken(t.Context(), s.Dir, sandbox.Identity{}, "me")
	expect.Cause(t, err, sandbox.ErrNotRunning)
	stale := `{"mintURL":"` + s.IssuerURL + `/sandbox/token","secret":"x"}`
	must.Do(t, os.WriteFile(filepath.Join(s.Dir, "control.json"), []byte(stale), 0o600))
	_, err = sandbox.RequestToken(t.Context(), s.Dir, sandbox.Identity{}, "me")
	expect.Cause(t, err, sandbox.ErrNotRunning)
}

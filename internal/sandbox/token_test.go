package sandbox_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/google/go-cmp/cmp"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/must"
)

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
		if err := json.Unmarshal(answer, &got); err != nil || status != http.StatusOK {
			t.Fatalf("%s: status %d, %s", scheme, status, answer)
		}
		claims := claimsOf(t, s, got.Value)
		for _, name := range []string{"iat", "nbf", "exp", "jti"} {
			if claims[name] == nil {
				t.Errorf("claim %s is missing", name)
			}
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
		if diff := cmp.Diff(want, claims); diff != "" {
			t.Errorf("claims (-want +got):\n%s", diff)
		}
	}
	for name, header := range map[string]http.Header{
		"no bearer":       nil,
		"wrong bearer":    {"Authorization": {"bearer nonsense"}},
		"empty bearer":    {"Authorization": {"bearer "}},
		"another scheme":  {"Authorization": {"basic " + s.TokenRequestToken}},
		"nothing but it":  {"Authorization": {s.TokenRequestToken}},
		"trailing letter": {"Authorization": {"bearer " + s.TokenRequestToken + "x"}},
	} {
		if status, _, _ := send(t, http.MethodGet, url, header, nil); status != http.StatusUnauthorized {
			t.Errorf("%s: status %d, want 401", name, status)
		}
	}
	// The bearer token of every job does not give access to the endpoint for any identity.
	status, _, _ := send(t, http.MethodPost, s.IssuerURL+"/sandbox/token",
		http.Header{"Authorization": {"bearer " + s.TokenRequestToken}}, strings.NewReader(`{}`))
	if status != http.StatusUnauthorized {
		t.Errorf("mint endpoint: status %d, want 401", status)
	}
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
			if claims[name] != want {
				t.Errorf("%s: claim %s is %v, want %v", tc.name, name, claims[name], want)
			}
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
	if claims["ref"] != "refs/heads/dev" || claims["aud"] != "me" {
		t.Errorf("claims %v", claims)
	}
	if age := time.Since(time.Unix(int64(claims["exp"].(float64)), 0)); age < time.Hour {
		t.Errorf("token has been expired for %s, want an hour", age)
	}
	if claims["iat"].(float64) >= claims["exp"].(float64) {
		t.Error("token was never good")
	}
	if _, err := sandbox.RequestToken(t.Context(), s.Dir, sandbox.Identity{Ref: "dev"}, "me"); err == nil || !strings.Contains(err.Error(), "refs/") {
		t.Errorf("short ref: %v", err)
	}
	// First after Close, then after a crash that leaves the file.
	must.Do(t, s.Close())
	if _, err := sandbox.RequestToken(t.Context(), s.Dir, sandbox.Identity{}, "me"); !errors.Is(err, sandbox.ErrNotRunning) {
		t.Errorf("closed: %v", err)
	}
	stale := `{"mintURL":"` + s.IssuerURL + `/sandbox/token","secret":"x"}`
	must.Do(t, os.WriteFile(filepath.Join(s.Dir, "control.json"), []byte(stale), 0o600))
	if _, err := sandbox.RequestToken(t.Context(), s.Dir, sandbox.Identity{}, "me"); !errors.Is(err, sandbox.ErrNotRunning) {
		t.Errorf("killed: %v", err)
	}
}

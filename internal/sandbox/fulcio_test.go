package sandbox_test

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sigstore/sigstore-go/pkg/sign"
	"github.com/sigstore/sigstore/pkg/cryptoutils"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/must"
)

func certify(t *testing.T, s *sandbox.Sandbox, token string) error {
	t.Helper()
	keypair, err := sign.NewEphemeralKeypair(nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = sign.NewFulcio(&sign.FulcioOptions{BaseURL: s.FulcioURL}).
		GetCertificate(t.Context(), keypair, &sign.CertificateProviderOptions{IDToken: token})
	return err
}

func TestFulcioRefuses(t *testing.T) {
	s := start(t, sandbox.Options{})
	other := start(t, sandbox.Options{})
	good := mint(t, s, sandbox.Identity{})
	if err := certify(t, s, good); err != nil {
		t.Fatalf("a good token: %v", err)
	}
	forAnother := must.Get(s.Token(sandbox.Identity{}, "somebody-else"))(t)
	// The same claims with the signature of another token.
	parts := strings.Split(good, ".")
	foreign := strings.Split(mint(t, s, sandbox.Identity{Ref: "refs/heads/dev"}), ".")
	for name, token := range map[string]string{
		"expired":                 mint(t, s, sandbox.Identity{TokenLifetime: -time.Minute}),
		"for another client":      forAnother,
		"of another sandbox":      mint(t, other, sandbox.Identity{}),
		"claims our issuer":       mint(t, other, sandbox.Identity{Issuer: s.IssuerURL}),
		"names an unknown issuer": mint(t, s, sandbox.Identity{Issuer: "https://token.actions.githubusercontent.com"}),
		"signature swapped":       parts[0] + "." + parts[1] + "." + foreign[2],
		"claims swapped":          parts[0] + "." + foreign[1] + "." + parts[2],
		"unsigned":                base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + parts[1] + ".",
	} {
		if err := certify(t, s, token); err == nil || !strings.Contains(err.Error(), "Fulcio returned 400") {
			t.Errorf("%s: %v, want status 400", name, err)
		}
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
		body := must.Get(json.Marshal(map[string]any{"publicKeyRequest": map[string]any{
			"publicKey":         map[string]string{"algorithm": "ECDSA", "content": string(tc.key)},
			"proofOfPossession": proof,
		}}))(t)
		status, _, answer := send(t, http.MethodPost, s.FulcioURL+"/api/v2/signingCert",
			http.Header{"Authorization": {"Bearer " + mint(t, s, sandbox.Identity{})}, "Content-Type": {"application/json"}}, bytes.NewReader(body))
		if status != tc.want {
			t.Errorf("%s: status %d, want %d: %s", tc.name, status, tc.want, answer)
		}
	}
}

func TestFulcioDescribesItself(t *testing.T) {
	s := start(t, sandbox.Options{})
	var bundle struct {
		Chains []struct{ Certificates []string }
	}
	_, _, answer := send(t, http.MethodGet, s.FulcioURL+"/api/v2/trustBundle", nil, nil)
	must.Do(t, json.Unmarshal(answer, &bundle))
	if len(bundle.Chains) != 1 || len(bundle.Chains[0].Certificates) != 2 {
		t.Fatalf("trust bundle %s, want one chain of two", answer)
	}
	trusted := readFile(t, s.TrustedRootPath)
	for _, certificate := range bundle.Chains[0].Certificates {
		parsed := must.Get(cryptoutils.UnmarshalCertificatesFromPEM([]byte(certificate)))(t)
		if !strings.Contains(trusted, base64.StdEncoding.EncodeToString(parsed[0].Raw)) {
			t.Errorf("trusted root lacks %s", parsed[0].Subject)
		}
	}
	_, _, answer = send(t, http.MethodGet, s.FulcioURL+"/api/v2/configuration", nil, nil)
	for _, want := range []string{s.IssuerURL, s.OtherIssuerURL, `"audience":"sigstore"`} {
		if !strings.Contains(string(answer), want) {
			t.Errorf("configuration lacks %s: %s", want, answer)
		}
	}
	status, _, answer := send(t, http.MethodGet, s.FulcioURL+"/api/v1/rootCert", nil, nil)
	if status != http.StatusOK || !strings.Contains(string(answer), "BEGIN CERTIFICATE") {
		t.Errorf("version 1 root: status %d, %s", status, answer)
	}
}

// Older clients use version 1: status 201, and the chain as PEM.
func TestFulcioVersion1(t *testing.T) {
	s := start(t, sandbox.Options{})
	keypair := must.Get(sign.NewEphemeralKeypair(nil))(t)
	proof, _, err := keypair.SignData(t.Context(), []byte("repo:acme/exceptions:ref:refs/heads/main"))
	if err != nil {
		t.Fatal(err)
	}
	public := must.Get(cryptoutils.MarshalPublicKeyToDER(keypair.GetPublicKey()))(t)
	body := must.Get(json.Marshal(map[string]any{
		"publicKey":          map[string]any{"content": public, "algorithm": "ecdsa"},
		"signedEmailAddress": proof,
	}))(t)
	status, header, answer := send(t, http.MethodPost, s.FulcioURL+"/api/v1/signingCert",
		http.Header{"Authorization": {"Bearer " + mint(t, s, sandbox.Identity{})}, "Content-Type": {"application/json"}}, bytes.NewReader(body))
	if status != http.StatusCreated {
		t.Fatalf("status %d, want 201: %s", status, answer)
	}
	chain, err := cryptoutils.UnmarshalCertificatesFromPEM(answer)
	if err != nil || len(chain) != 3 {
		t.Fatalf("%d certificates, %v; want leaf, intermediate and root", len(chain), err)
	}
	if got := chain[0].URIs[0].String(); got != (sandbox.Identity{}).Subject() {
		t.Errorf("subject %s", got)
	}
	for name := range header {
		if strings.HasPrefix(name, "Grpc-") {
			t.Errorf("header %s leaks", name)
		}
	}
}

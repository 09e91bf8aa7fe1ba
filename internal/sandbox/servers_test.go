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

	"github.com/digitorus/timestamp"
	ct "github.com/google/certificate-transparency-go"
	"github.com/sigstore/sigstore-go/pkg/root"
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
			if status != http.StatusCreated {
				t.Fatalf("status %d: %s", status, answer)
			}
			if _, err := trusted.TimestampingAuthorities()[0].Verify(answer, text); err != nil {
				t.Errorf("%v, certificates %t: %v", hash, certificates, err)
			}
			if _, err := trusted.TimestampingAuthorities()[0].Verify(answer, []byte("another")); err == nil {
				t.Errorf("%v: verified for another text", hash)
			}
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
		if status, _, _ := send(t, http.MethodPost, s.TimestampURL, tc.header, bytes.NewReader(tc.body)); status != tc.want {
			t.Errorf("%s: status %d, want %d", name, status, tc.want)
		}
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
		if status, _, answer := send(t, http.MethodPost, s.CTLogURL+tc.path, nil, bytes.NewReader(body)); status != http.StatusBadRequest {
			t.Errorf("%s: status %d, want 400: %s", name, status, answer)
		}
	}
}

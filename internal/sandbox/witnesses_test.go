package sandbox_test

import (
	"bytes"
	"crypto"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/digitorus/timestamp"
	ct "github.com/google/certificate-transparency-go"
	"github.com/sigstore/sigstore-go/pkg/root"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/must"
)

func TestTimestampsVerify(t *testing.T) {
	s := start(t, sandbox.Options{})
	trusted := must.Get(root.NewTrustedRootFromPath(s.TrustedRootPath))(t)
	text := []byte("stamp me")
	header := http.Header{"Content-Type": {"application/timestamp-query"}}
	for _, hash := range []crypto.Hash{crypto.SHA256, crypto.SHA512} {
		for _, certificates := range []bool{false, true} {
			query, err := timestamp.CreateRequest(bytes.NewReader(text), &timestamp.RequestOptions{Hash: hash, Certificates: certificates})
			if err != nil {
				t.Fatal(err)
			}
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

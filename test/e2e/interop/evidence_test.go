//go:build e2e

package interop

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
)

// localBundle is cosign's old bundle of a signature in a file.
type localBundle struct {
	Signature []byte            `json:"base64Signature"`
	Cert      string            `json:"cert,omitempty"`
	Rekor     *seal.RekorBundle `json:"rekorBundle"`
}

// taken has the paths of a signature's parts, as cosign reads them.
type taken struct{ message, modern, old string }

// takeApart writes the only signature of a signed document to files.
func takeApart(t *testing.T, path string) taken {
	t.Helper()
	s, err := seal.Read(parse(t, read(t, path)))
	if err != nil {
		t.Fatal(err)
	}
	first := s.Signatures[0]
	old := localBundle{Signature: first.Signature, Rekor: first.Bundle}
	if first.Certificate != nil {
		old.Cert = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: first.Certificate}))
	}
	raw, err := json.Marshal(old)
	if err != nil {
		t.Fatal(err)
	}
	return taken{message: write(t, "message.yaml", string(s.Message)), modern: write(t, "bundle.json", string(first.BundleV03)), old: write(t, "old.json", string(raw))}
}

// message writes the message to sign for a document, and returns its path.
func message(t *testing.T, path string) string {
	t.Helper()
	raw, err := seal.Message(parse(t, read(t, path)))
	if err != nil {
		t.Fatal(err)
	}
	return write(t, "message.yaml", string(raw))
}

// attach adds a signature from cosign to a document.
func attach(t *testing.T, path string, signature seal.Signature) string {
	t.Helper()
	doc := parse(t, read(t, path))
	raw, err := seal.Message(doc)
	if err != nil {
		t.Fatal(err)
	}
	attached, err := seal.Attach(doc, &seal.Seal{Message: raw, Signatures: []seal.Signature{signature}})
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), filepath.Base(path))
	if err := os.WriteFile(out, attached.Source(), 0o600); err != nil {
		t.Fatal(err)
	}
	return out
}

// fromOld reads cosign's old bundle.
func fromOld(t *testing.T, path string) seal.Signature {
	t.Helper()
	var old localBundle
	if err := json.Unmarshal([]byte(read(t, path)), &old); err != nil {
		t.Fatal(err)
	}
	s := seal.Signature{Signature: old.Signature, Bundle: old.Rekor}
	if old.Cert == "" {
		return s
	}
	text, err := base64.StdEncoding.DecodeString(old.Cert)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		// The file of a key's signature has the key.
		return s
	}
	s.Certificate = certificate.Raw
	return s
}

// fromModern reads a Sigstore bundle.
func fromModern(t *testing.T, path string) seal.Signature {
	t.Helper()
	b := new(protobundle.Bundle)
	if err := protojson.Unmarshal([]byte(read(t, path)), b); err != nil {
		t.Fatal(err)
	}
	return seal.Signature{Signature: b.GetMessageSignature().GetSignature(), BundleV03: []byte(read(t, path)),
		Certificate: b.GetVerificationMaterial().GetCertificate().GetRawBytes()}
}

func parse(t *testing.T, text string) *exception.Document {
	t.Helper()
	doc, err := exception.Parse([]byte(text), "exception.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

//go:build e2e

package interop

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/test/e2e/servers"
	"github.com/polex-dev/polex/test/must"
)

// drafts are typical exceptions by API group. NAME is a placeholder for the name.
var drafts = map[string]string{
	"kyverno.io": `apiVersion: kyverno.io/v2
kind: PolicyException
metadata:
  name: NAME
  namespace: team-a
  annotations:
    polex.dev/reason: 'the vendor''s agent mounts the host'
    polex.dev/expires-in: 7d
spec:
  match:
    any:
    - resources:
        kinds: [Pod]
        names: ["agent-*"]
        namespaces: [team-a]
  exceptions:
  - policyName: disallow-host-path
    ruleNames: [host-path]
`,
	"policies.kyverno.io": `apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata:
  name: NAME
  namespace: team-a
  annotations:
    polex.dev/expires-in: 7d
spec:
  policyRefs:
  - name: disallow-host-path
    kind: ValidatingPolicy
  matchConditions:
  - name: agents
    expression: object.metadata.name.startsWith("agent-") && object.metadata.namespace == 'team-a'
  properties:
    reason: "0123" # text, and not a number
`,
}

// draft writes an exception to a new folder and returns its path.
func draft(t *testing.T, group, name string) string {
	t.Helper()
	return write(t, name+".yaml", strings.Replace(drafts[group], "NAME", name, 1))
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func read(t *testing.T, path string) string {
	t.Helper()
	return string(must.Get(os.ReadFile(path))(t))
}

// token writes the token of an identity to a file and returns its path.
func token(t *testing.T, id sandbox.Identity) string {
	t.Helper()
	return write(t, "token", must.Get(box.Token(id, "sigstore"))(t))
}

// output runs a command that must succeed, and returns its output.
func output(t *testing.T, program string, args ...string) string {
	t.Helper()
	return string(must.Get(commands.Output(t.Context(), servers.Command{Program: program, Args: args}))(t))
}

// sealed signs a file with polex-sign, and returns the path of the result.
func sealed(t *testing.T, p place, path string, more ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), filepath.Base(path))
	output(t, "polex-sign", append([]string{"--config", p.config, "--identity-token", token(t, sandbox.Identity{}),
		path, "--output-file", out}, more...)...)
	return out
}

// report is polex-verify's report in JSON.
type report struct {
	Results []struct {
		File, Reason, Message string
		Details               struct{ Signatures []map[string]any }
	}
}

// verified runs polex-verify, for any verdict.
func verified(t *testing.T, args ...string) report {
	t.Helper()
	// There is a report for the exit statuses 0 and 1.
	out, err := commands.Output(context.Background(), servers.Command{Program: "polex-verify", Args: append([]string{"-o", "json"}, args...)})
	var r report
	must.That(t, json.Unmarshal(out, &r) == nil && len(r.Results) != 0, "%v", err)
	return r
}

// reasons returns the reason of each result.
func (r report) reasons() string {
	var all []string
	for _, result := range r.Results {
		all = append(all, result.Reason)
	}
	return fmt.Sprint(all)
}

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
	s := must.Get(seal.Read(parse(t, read(t, path))))(t)
	first := s.Signatures[0]
	old := localBundle{Signature: first.Signature, Rekor: first.Bundle}
	if first.Certificate != nil {
		old.Cert = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: first.Certificate}))
	}
	raw := must.Get(json.Marshal(old))(t)
	return taken{message: write(t, "message.yaml", string(s.Message)), modern: write(t, "bundle.json", string(first.BundleV03)), old: write(t, "old.json", string(raw))}
}

// message writes the message to sign for a document, and returns its path.
func message(t *testing.T, path string) string {
	t.Helper()
	return write(t, "message.yaml", string(must.Get(seal.Message(parse(t, read(t, path))))(t)))
}

// attach adds a signature from cosign to a document.
func attach(t *testing.T, path string, signature seal.Signature) string {
	t.Helper()
	doc := parse(t, read(t, path))
	raw := must.Get(seal.Message(doc))(t)
	attached := must.Get(seal.Attach(doc, &seal.Seal{Message: raw, Signatures: []seal.Signature{signature}}))(t)
	out := filepath.Join(t.TempDir(), filepath.Base(path))
	must.Do(t, os.WriteFile(out, attached.Source(), 0o600))
	return out
}

// fromOld reads cosign's old bundle.
func fromOld(t *testing.T, path string) seal.Signature {
	t.Helper()
	var old localBundle
	must.Do(t, json.Unmarshal([]byte(read(t, path)), &old))
	s := seal.Signature{Signature: old.Signature, Bundle: old.Rekor}
	if old.Cert == "" {
		return s
	}
	text := must.Get(base64.StdEncoding.DecodeString(old.Cert))(t)
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
	must.Do(t, protojson.Unmarshal([]byte(read(t, path)), b))
	return seal.Signature{Signature: b.GetMessageSignature().GetSignature(), BundleV03: []byte(read(t, path)),
		Certificate: b.GetVerificationMaterial().GetCertificate().GetRawBytes()}
}

func parse(t *testing.T, text string) *exception.Document {
	t.Helper()
	return must.Get(exception.Parse([]byte(text), "exception.yaml"))(t)
}

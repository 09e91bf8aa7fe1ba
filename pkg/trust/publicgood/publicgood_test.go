package publicgood_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sigstore/sigstore-go/pkg/root"

	"github.com/polex-dev/polex/pkg/trust/publicgood"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

func parse(t *testing.T, data []byte) *root.TrustedRoot {
	t.Helper()
	return must.Get(root.NewTrustedRootFromJSON(data))(t)
}

// TestComplete: the root has all parts for verification, with the names of the public-good instance.
func TestComplete(t *testing.T) {
	tr := parse(t, publicgood.TrustedRootJSON())
	got := map[string][]string{}
	for _, l := range tr.RekorLogs() {
		got["rekor"] = append(got["rekor"], l.BaseURL)
	}
	for _, l := range tr.CTLogs() {
		got["ctlog"] = append(got["ctlog"], l.BaseURL)
	}
	for _, ca := range tr.FulcioCertificateAuthorities() {
		got["fulcio"] = append(got["fulcio"], ca.(*root.FulcioCertificateAuthority).URI)
	}
	for _, tsa := range tr.TimestampingAuthorities() {
		got["tsa"] = append(got["tsa"], tsa.(*root.SigstoreTimestampingAuthority).URI)
	}
	for _, urls := range got {
		slices.Sort(urls)
	}
	want := map[string][]string{
		"rekor":  {"https://log2025-1.rekor.sigstore.dev", "https://rekor.sigstore.dev"},
		"ctlog":  {"https://ctfe.sigstore.dev/2022", "https://ctfe.sigstore.dev/test"},
		"fulcio": {"https://fulcio.sigstore.dev", "https://fulcio.sigstore.dev"},
		"tsa":    {"https://timestamp.sigstore.dev/api/v1/timestamp"},
	}
	expect.Equal(t, "public-good instance", want, got)
}

// TestAgreesWithSigstoreGo: all logs and certificate authorities in sigstore-go's older copy must
// be here, unchanged. Its timestamp authority was replaced since, and is not compared.
func TestAgreesWithSigstoreGo(t *testing.T) {
	dir := must.Get(exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/sigstore/sigstore-go").Output())(t)
	data := must.Get(os.ReadFile(
		filepath.Join(strings.TrimSpace(string(dir)), "examples", "trusted-root-public-good.json")))(t)
	theirs, ours := parse(t, data), parse(t, publicgood.TrustedRootJSON())

	if len(theirs.RekorLogs()) == 0 || len(theirs.CTLogs()) == 0 || len(theirs.FulcioCertificateAuthorities()) == 0 {
		t.Fatal("sigstore-go's copy is empty: nothing was compared")
	}
	for id, log := range theirs.RekorLogs() {
		expect.Equal(t, fmt.Sprintf("Rekor log %s (-sigstore-go +here)", id), log, ours.RekorLogs()[id])
	}
	for id, log := range theirs.CTLogs() {
		expect.Equal(t, fmt.Sprintf("CT log %s (-sigstore-go +here)", id), log, ours.CTLogs()[id])
	}
	for i, ca := range theirs.FulcioCertificateAuthorities() {
		if !slices.ContainsFunc(ours.FulcioCertificateAuthorities(), func(our root.CertificateAuthority) bool { return cmp.Equal(ca, our) }) {
			t.Errorf("certificate authority %d of sigstore-go's copy is not here", i)
		}
	}
}

func TestSourceSaysWhatIsHere(t *testing.T) {
	doc := must.Get(os.ReadFile("SOURCE.md"))(t)
	sum := sha256.Sum256(publicgood.TrustedRootJSON())
	for _, line := range []string{
		"- from: " + publicgood.Source,
		"- sha256: " + hex.EncodeToString(sum[:]),
		"- date: " + publicgood.Date,
	} {
		expect.Is(t, fmt.Sprintf("SOURCE.md has the line %q", line), 1, bytes.Count(doc, []byte("\n"+line+"\n")))
	}
	_, err := time.Parse(time.DateOnly, publicgood.Date)
	expect.NoError(t, err)
}

func TestTrustedRootJSONIsACopy(t *testing.T) {
	first := publicgood.TrustedRootJSON()
	clear(first)
	expect.That(t, bytes.HasPrefix(publicgood.TrustedRootJSON(), []byte("{")), "writing to one copy changed the next")
}

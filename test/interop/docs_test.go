package interop_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/polex-dev/polex/test/modcache"
	"github.com/polex-dev/polex/test/must"
)

const page = "../../docs/explanation/interop.md"

// TestDocs: docs/explanation/interop.md gives each cause for which polex rejects a document that others
// accept.
func TestDocs(t *testing.T) {
	text, causes := read(t, page), 0
	for id, v := range publishedVerdicts {
		cause, _, _ := strings.Cut(v.why, ". The request")
		if !strings.Contains(text, "- "+cause) {
			t.Errorf("%s does not say why polex rejects %s: %s", page, id, cause)
		}
		if cause != "" {
			causes++
		}
	}
	if causes < 10 {
		t.Errorf("there are only %d causes", causes)
	}
}

// TestDocsVersions compares the versions in docs/explanation/interop.md with the pinned ones, and
// the versions of the test data with polex's dependencies.
func TestDocsVersions(t *testing.T) {
	text := read(t, page)
	for _, pin := range []struct{ name, file, module string }{
		{"Fulcio", "sigstore/go.mod", "github.com/sigstore/fulcio"},
		{"Rekor", "sigstore/go.mod", "github.com/sigstore/rekor"},
		{"Trillian", "sigstore/go.mod", "github.com/google/trillian"},
		{"rekor-tiles", "sigstore/go.mod", "github.com/sigstore/rekor-tiles/v2"},
		{"timestamp-authority", "sigstore/go.mod", "github.com/sigstore/timestamp-authority/v2"},
		{"certificate-transparency-go", "sigstore/go.mod", "github.com/google/certificate-transparency-go"},
		{"cosign", "sigstore/go.mod", "github.com/sigstore/cosign/v3"},
		{"Kyverno", "kyverno/go.mod", "github.com/kyverno/kyverno"},
		{"kube-apiserver", "kubernetes/go.mod", "k8s.io/kubernetes"},
		{"kubectl-sigstore", "../../../go.mod", "github.com/sigstore/k8s-manifest-sigstore"},
		{"sigstore-go", "../../../go.mod", "github.com/sigstore/sigstore-go"},
		{"protobuf-specs", "../../../go.mod", "github.com/sigstore/protobuf-specs"},
	} {
		if want := pin.name + " " + pinned(t, pin.file, pin.module); !strings.Contains(text, want) {
			t.Errorf("%s does not say %q", page, want)
		}
	}
	for _, data := range []string{modcache.KubectlSigstore, modcache.SigstoreGo, modcache.ProtobufSpecs} {
		module, version, _ := strings.Cut(data, "@v")
		if want := pinned(t, "../../../go.mod", module); version != want {
			t.Errorf("the test data is that of %s, and polex is built of %s", data, want)
		}
	}
	if install := "kubectl-sigstore@v" + pinned(t, "../../../go.mod", "github.com/sigstore/k8s-manifest-sigstore"); !strings.Contains(read(t, "../../Makefile"), install) {
		t.Errorf("the Makefile does not install %s", install)
	}
}

// pinned returns the version of a module in a go.mod under test/e2e/tools.
func pinned(t *testing.T, file, module string) string {
	t.Helper()
	_, after, found := strings.Cut(read(t, filepath.Join("..", "e2e", "tools", file)), "\t"+module+" v")
	if !found {
		t.Fatalf("%s does not require %s", file, module)
	}
	return strings.Fields(after)[0]
}

func read(t *testing.T, path string) string {
	t.Helper()
	raw := must.Get(os.ReadFile(path))(t)
	return string(raw)
}

package interop_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/polex-dev/polex/internal/modcache"
)

var update = flag.Bool("update", false, "write the table of docs/explanation/interop.md anew")

const (
	page       = "../../docs/explanation/interop.md"
	tableBegin = "<!-- published: written by go test ./test/interop -run TestDocs -update -->\n"
	tableEnd   = "<!-- /published -->\n"
)

// TestDocs compares the table of docs/explanation/interop.md with the verdicts.
func TestDocs(t *testing.T) {
	before, rest, found := strings.Cut(read(t, page), tableBegin)
	got, after, ended := strings.Cut(rest, tableEnd)
	if !found || !ended {
		t.Fatalf("%s has no place for the table", page)
	}
	want := publishedTable(t)
	if *update {
		if err := os.WriteFile(page, []byte(before+tableBegin+want+tableEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s is out of date; go test ./test/interop -run TestDocs -update (-want +got):\n%s", page, diff)
	}
}

// publishedTable counts the verdicts for each project, and the documents that only polex rejects, by
// cause. publishedVerdicts has their names.
func publishedTable(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	out.WriteString("\n| published by | accepted by both | rejected by both | rejected by polex alone |\n| --- | --- | --- | --- |\n")
	documents := map[publishedVerdict]int{}
	var order []publishedVerdict
	for _, project := range projects {
		both, neither, alone := 0, 0, 0
		for _, p := range project.read(t, modcache.Dir(t, project.module)) {
			v := publishedVerdicts[p.id()]
			switch {
			case v.ours == "":
				both++
			case !p.theirs:
				neither++
			default:
				alone++
				if documents[v]++; documents[v] == 1 {
					order = append(order, v)
				}
			}
		}
		_, version, _ := strings.Cut(project.module, "@v")
		fmt.Fprintf(&out, "| %s %s | %d | %d | %d |\n", project.name, version, both, neither, alone)
	}
	out.WriteString("\n| reason | why polex rejects it | documents |\n| --- | --- | --- |\n")
	for _, v := range order {
		fmt.Fprintf(&out, "| %s | %s | %d |\n", v.ours, v.why, documents[v])
	}
	return out.String() + "\n"
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
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

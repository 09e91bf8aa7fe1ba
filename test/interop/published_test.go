package interop_test

import (
	"encoding/base64"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/modcache"
	"github.com/polex-dev/polex/test/must"
)

// published is a document from another project, with its policy and its verdict there.
type published struct {
	project string // "Kyverno"
	file    string // within its module
	name    string // the name of the test, if there are several for one file
	theirs  bool   // accepted
	config  trust.Config
	raw     []byte
}

func (p *published) id() string { return strings.TrimSpace(p.file + " " + p.name) }

// publishedVerdict is the verdict of polex on one of them. unlogged is the verdict if no key
// requires a log entry.
type publishedVerdict struct {
	ours, unlogged string // "" is accepted
	why            string // the cause, if the other project accepts the document
}

// The projects, and their folders that can have signed documents.
var projects = []struct {
	name, module string
	read         func(t *testing.T, dir string) []published
	folders      []string
}{
	{"Kyverno", modcache.Kyverno, kyvernoPublished, []string{"test", "pkg", "cmd", "charts"}},
	{"k8s-manifest-sigstore", modcache.KubectlSigstore, peerPublished, []string{"."}},
}

// TestPublished verifies the published documents of other projects with their published policies.
// polex rejects every document that they reject. It accepts every document that they accept, except
// those with a cause in the table.
func TestPublished(t *testing.T) {
	now := time.Now()
	root := must.Get(trust.PublicGoodRoot())(t)
	unseen := maps.Clone(publishedVerdicts)
	accepted := 0
	for _, project := range projects {
		dir := modcache.Dir(t, project.module)
		all := project.read(t, dir)
		everySealedFileIsOneOf(t, dir, project.folders, all)
		for _, p := range all {
			want, known := publishedVerdicts[p.id()]
			if !known {
				t.Errorf("the table has no verdict on %q", p.id())
				continue
			}
			delete(unseen, p.id())
			got := judge(t, p, p.config, root, now)
			if got != want.ours {
				t.Errorf("%s: %q, want %q", p.id(), got, want.ours)
			}
			if got := judge(t, p, withoutLog(p.config), root, now); got != want.unlogged {
				t.Errorf("%s: %q where keys need no log, want %q", p.id(), got, want.unlogged)
			}
			switch stricter := p.theirs && got != ""; {
			case !p.theirs && got == "":
				t.Errorf("%s: polex accepts what %s refuses", p.id(), project.name)
			case stricter != (want.why != ""):
				t.Errorf("%s: polex is stricter: %t, and the table says why: %t", p.id(), stricter, want.why != "")
			case got == "":
				accepted++
			}
		}
	}
	if len(unseen) > 0 {
		t.Errorf("the table has verdicts on what nobody publishes: %q", slices.Sorted(maps.Keys(unseen)))
	}
	if accepted == 0 {
		t.Error("nothing was accepted")
	}
}

// TestPublishedKeyless: signatures of two people with the public-good Sigstore from 2022 count for
// these two, and for no other authority.
func TestPublishedKeyless(t *testing.T) {
	const file = "pkg/k8smanifest/testdata/sample-configmap-keyless-multi-signed.yaml"
	p := published{file: file, raw: modcache.Read(t, modcache.KubectlSigstore, file)}
	root := must.Get(trust.PublicGoodRoot())(t)
	author := trust.AuthorityConfig{Name: "author", Issuer: "https://github.com/login/oauth", Subject: "hirokuni.kitahara1@ibm.com"}
	other := trust.AuthorityConfig{Name: "other", Issuer: "https://accounts.google.com", Subject: "hkitahar@redhat.com"}
	stranger := trust.AuthorityConfig{Name: "stranger", Issuer: author.Issuer, Subject: other.Subject}
	for _, tc := range []struct {
		name        string
		authorities []trust.AuthorityConfig
		root        *trust.Root
		want        string // "" is accepted
	}{
		{"one of two", []trust.AuthorityConfig{author}, root, ""},
		{"both", []trust.AuthorityConfig{author, other}, root, ""},
		{"one of them by the issuer of the other", []trust.AuthorityConfig{stranger}, root, verify.ReasonWrongIdentity},
		{"one of them and a stranger", []trust.AuthorityConfig{author, stranger}, root, verify.ReasonTooFewAuthorities},
		{"another root", []trust.AuthorityConfig{author}, world.root, verify.ReasonUntrustedCertificate},
	} {
		config := trust.Config{Kinds: []string{"ConfigMap"}, Threshold: len(tc.authorities), Authorities: tc.authorities}
		if got := judge(t, p, config, tc.root, time.Now()); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
	p.raw = []byte(strings.Replace(string(p.raw), "key1: val1", "key1: val2", 1))
	config := trust.Config{Kinds: []string{"ConfigMap"}, Authorities: []trust.AuthorityConfig{author}}
	if got := judge(t, p, config, root, time.Now()); got != verify.ReasonAltered {
		t.Errorf("a value changed: %q, want %q", got, verify.ReasonAltered)
	}
}

// judge returns the reason of polex's rejection, or "".
func judge(t *testing.T, p published, config trust.Config, root *trust.Root, now time.Time) string {
	t.Helper()
	policy, err := trust.New(config, root)
	if err != nil && strings.Contains(err.Error(), "cannot be reached") {
		return notLoaded
	}
	if err != nil {
		t.Fatalf("%s: %v", p.id(), err)
	}
	v := must.Get(verify.New(policy))(t)
	doc, err := exception.Parse(p.raw, p.file)
	if err != nil {
		t.Fatalf("%s: %v", p.id(), err)
	}
	_, err = v.Verify(doc, now)
	var rejected *verify.Rejected
	if err != nil && !errors.As(err, &rejected) {
		t.Fatalf("%s: %v", p.id(), err)
	}
	if rejected != nil {
		return rejected.Reason
	}
	return ""
}

func withoutLog(c trust.Config) trust.Config {
	c.Authorities = slices.Clone(c.Authorities)
	for i := range c.Authorities {
		c.Authorities[i].InsecureWithoutLog = c.Authorities[i].Key != ""
	}
	return c
}

// everySealedFileIsOneOf fails for a signed file that no test verifies.
func everySealedFileIsOneOf(t *testing.T, dir string, folders []string, all []published) {
	t.Helper()
	for _, folder := range folders {
		must.Do(t, filepath.WalkDir(filepath.Join(dir, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json", ".go"}, filepath.Ext(path)) {
				return err
			}
			raw, err := os.ReadFile(path)
			if err != nil || !strings.Contains(string(raw), messageKey+`: H4sI`) && !strings.Contains(string(raw), messageKey+`": "H4sI`) {
				return err
			}
			file, err := filepath.Rel(dir, path)
			if err == nil && !slices.ContainsFunc(all, func(p published) bool { return p.file == filepath.ToSlash(file) }) {
				t.Errorf("%s holds a seal, and nothing is known of it", file)
			}
			return err
		}))
	}
}

func readPublished(t *testing.T, dir, file string) []byte {
	t.Helper()
	return must.Get(os.ReadFile(filepath.Join(dir, filepath.FromSlash(file))))(t)
}

// peerTests are the verdicts in the peer's tests of its test data. Those tests are programs, so
// their verdicts are repeated here. A test checks that each still uses its file.
var peerTests = []struct {
	source, test, file string
	theirs             bool
	signer             string // "" for the key beside the file
}{
	{"pkg/k8smanifest/verify_test.go", "TestVerifyResource", "sample-configmap-signed.yaml", true, ""},
	{"pkg/k8smanifest/verify_test.go", "TestVerifyResourceWithMultipleSignatures", "sample-configmap-multi-signed.yaml", true, ""},
	{"pkg/k8smanifest/verify_test.go", "TestVerifyResourceWithKeylessMultipleSignatures", "sample-configmap-keyless-multi-signed.yaml", true, "hirokuni.kitahara1@ibm.com"},
	{"pkg/k8smanifest/verify_test.go", "TestVerifyResourceWithoutDryRun", "sample-deployment-signed-deployed.yaml", false, ""},
	{"pkg/k8smanifest/verify_test.go", "TestInclusionMatch", "sample-deployment-signed.yaml", true, ""},
	{"pkg/k8smanifest/verify_test.go", "TestInclusionMatch", "sample-deployment-signed-mutating-1.yaml", true, ""},
	{"pkg/k8smanifest/verify_test.go", "TestInclusionMatch", "sample-deployment-signed-mutating-2.yaml", true, ""},
	{"cmd/kubectl-sigstore/cli/verify_resource_test.go", "VerifyResource Test (No Signature)", "sample-configmap.yaml", false, ""},
	{"cmd/kubectl-sigstore/cli/verify_resource_test.go", "VerifyResource Test (Valid Signature)", "sample-configmap-signed.yaml", true, ""},
	{"test/e2e/e2e_test.go", "VerifyResource Test With Keyless-signed Resource", "sample-configmap-with-keyless-sig.yaml", true, "hirokuni.kitahara1@gmail.com"},
	{"test/e2e/e2e_test.go", "VerifyResource Test Without Signature (This verification should fail)", "sample-configmap-without-sig.yaml", false, ""},
	{"test/e2e/e2e_test.go", "VerifyResource Test With Signer Config (This verification should fail)", "sample-configmap-with-keyless-sig.yaml", false, "test-signer@example.com"},
	{"test/e2e/e2e_test.go", "VerifyResource Test With a Change (This verification should fail)", "sample-configmap-modified.yaml", false, "hirokuni.kitahara1@gmail.com"},
	{"test/e2e/e2e_test.go", "VerifyResource Test With a Change in Ignored Field", "sample-configmap-modified.yaml", true, "hirokuni.kitahara1@gmail.com"},
}

// peerFunctions matches the start of the peer's tests, in both styles.
var peerFunctions = regexp.MustCompile(`(?m)^(?:func (Test\w+)\(|\tIt\("([^"]+)",)`)

// functions returns the tests in one of the peer's files, by name.
func functions(source string) map[string]string {
	begins := peerFunctions.FindAllStringSubmatchIndex(source, -1)
	all := map[string]string{}
	for i, at := range begins {
		end := len(source)
		if i+1 < len(begins) {
			end = begins[i+1][0]
		}
		found := peerFunctions.FindStringSubmatch(source[at[0]:at[1]])
		all[found[1]+found[2]] = source[at[0]:end]
	}
	return all
}

func peerPublished(t *testing.T, dir string) []published {
	t.Helper()
	var all []published
	for _, test := range peerTests {
		body := functions(string(readPublished(t, dir, test.source)))[test.test]
		if !strings.Contains(body, test.file) {
			t.Errorf("%s: the test %q is not about %s", test.source, test.test, test.file)
		}
		folder := path.Join(path.Dir(test.source), "testdata")
		authority := trust.AuthorityConfig{Name: "signer"}
		if test.signer == "" {
			key := must.Get(base64.StdEncoding.DecodeString(strings.TrimSpace(string(readPublished(t, dir,
				folder+"/testpub")))))(t)
			authority.Key = string(key)
		} else {
			// The peer requires no issuer. polex gets the certificate's issuer.
			authority.Subject, authority.Issuer = test.signer, "https://github.com/login/oauth"
		}
		all = append(all, published{project: "k8s-manifest-sigstore", file: path.Join(folder, test.file), name: test.test, theirs: test.theirs,
			config: trust.Config{Kinds: []string{"*"}, Authorities: []trust.AuthorityConfig{authority}}, raw: readPublished(t, dir, path.Join(folder, test.file))})
	}
	return all
}

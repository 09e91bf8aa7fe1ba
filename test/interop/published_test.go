package interop_test

import (
	"encoding/base64"
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
	"github.com/polex-dev/polex/test/expect"
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

// publishedVerdict is the verdict of polex on one of them. unlogged is the verdict if no key requires a log entry.
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

// TestPublished verifies the published documents of other projects with their published policies. polex rejects every
// document that they reject. It accepts every document that they accept, except those with a cause in the table.
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
			expect.Is(t, p.id(), want.ours, got)
			expect.Is(t, p.id(), want.unlogged, judge(t, p, withoutLog(p.config), root, now))
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
	expect.That(t, len(unseen) == 0,
		"the table has verdicts on what nobody publishes: %q", slices.Sorted(maps.Keys(unseen)))
	expect.That(t, accepted != 0, "nothing was accepted")
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
		expect.Is(t, tc.name, tc.want, judge(t, p, config, tc.root, time.Now()))
	}
	p.raw = []byte(strings.Replace(string(p.raw), "key1: val1", "key1: val2", 1))
	config := trust.Config{Kinds: []string{"ConfigMap"}, Authorities: []trust.AuthorityConfig{author}}
	expect.Is(t, "a value changed", verify.ReasonAltered, judge(t, p, config, root, time.Now()))
}

// judge returns the reason of polex's rejection, or "".
func judge(t *testing.T, p published, config trust.Config, root *trust.Root, now time.Time) string {
	t.Helper()
	policy, err := trust.New(config, root)
	if err != nil && strings.Contains(err.Error(), "cannot be reached") {
		return notLoaded
	}
	must.That(t, err == nil, "%s: %v", p.id(), err)
	v := must.Get(verify.New(policy))(t)
	doc, err := exception.Parse(p.raw, p.file)
	must.That(t, err == nil, "%s: %v", p.id(), err)
	_, err = v.Verify(doc, now)
	return reasonOf(t, err)
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
		expect.That(t, strings.Contains(body, test.file),
			"%s: the test %q is not about %s", test.source, test.test, test.file)
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

// The causes for which polex rejects documents that others accept.
const (
	archived   = "the message is an archive, as from kubectl-sigstore with `--tarball=yes` and from older versions; polex accepts only documents"
	unlogged   = "the signature is by a key and has no log entry; Kyverno does not require one for a key, even if its policy does"
	oneKeyOnce = "its policy names one key twice and requires both; polex counts a signer once, and rejects a threshold that cannot be reached"
	filledIn   = unlogged + ". The request also has fields that the API server adds to a Service, and to polex they are a change"
	everyOne   = "one of the two signatures is by another key; polex requires that every signature of a document is valid"
)

// notLoaded means that polex rejects the policy itself.
const notLoaded string = "none: polex rejects the policy"

// Repeated verdicts.
var (
	unsigned     = publishedVerdict{verify.ReasonUnsigned, verify.ReasonUnsigned, ""}
	altered      = publishedVerdict{verify.ReasonAltered, verify.ReasonAltered, ""}
	anArchive    = publishedVerdict{verify.ReasonBadMessage, verify.ReasonBadMessage, archived}
	alsoArchived = publishedVerdict{verify.ReasonBadMessage, verify.ReasonBadMessage, ""} // they reject it too

	multiSignatures = map[string]publishedVerdict{
		"resource-no-signature.yaml":   unsigned,
		"resource-one-signature.yaml":  alsoArchived,
		"resource-two-signatures.yaml": {},
		"resource-bad-signatures.yaml": altered,
	}
	singleSignature = map[string]publishedVerdict{
		"resource-no-signature.yaml":   unsigned,
		"resource-one-signature.yaml":  anArchive,
		"resource-two-signatures.yaml": {verify.ReasonNoLogEntry, "", unlogged},
		"resource-bad-signatures.yaml": {verify.ReasonNoLogEntry, verify.ReasonAltered, ""},
	}
	yamlSigning = map[string]publishedVerdict{
		"chainsaw-step-02-apply-1-1.yaml": anArchive,
		"bad.yaml":                        unsigned,
	}
)

// publishedVerdicts are polex's verdicts on all published documents, by id.
var publishedVerdicts = flat(map[string]map[string]publishedVerdict{
	"test/conformance/chainsaw/verify-manifests/multi-signatures":             multiSignatures,
	"test/conformance/chainsaw/verify-manifests/multi-signatures(deprecated)": multiSignatures,
	"test/conformance/chainsaw/verify-manifests/single-signature":             singleSignature,
	"test/conformance/chainsaw/verify-manifests/single-signature(deprecated)": singleSignature,
	"test/conformance/chainsaw/validate/e2e/yaml-signing":                     yamlSigning,
	"test/conformance/chainsaw/validate/e2e/yaml-signing-deprecated":          yamlSigning,
	"test/cli/test/manifests/verify-signature": {
		"resources.yaml test-service by validate-yaml":            unsigned,
		"resources.yaml test-service2 by validate-yaml":           anArchive,
		"resources.yaml test-service3 by validate-yaml-multi-sig": {verify.ReasonNoLogEntry, "", unlogged},
	},
	"pkg/engine/handlers/validation": {
		"validate_manifest_test.go Test_VerifyManifest_SignedYAML":          anArchive,
		"validate_manifest_test.go Test_VerifyManifest_UnsignedYAML":        unsigned,
		"validate_manifest_test.go Test_VerifyManifest_InvalidYAML":         alsoArchived,
		"validate_manifest_test.go Test_VerifyManifest_MustAll_InvalidYAML": {verify.ReasonNoLogEntry, verify.ReasonTooFewAuthorities, ""},
		"validate_manifest_test.go Test_VerifyManifest_MustAll_ValidYAML":   {notLoaded, notLoaded, oneKeyOnce},
		"validate_manifest_test.go Test_VerifyManifest_AtLeastOne":          {verify.ReasonNoLogEntry, verify.ReasonAltered, filledIn},
	},
	"pkg/k8smanifest/testdata": {
		"sample-configmap-signed.yaml TestVerifyResource":                                            anArchive,
		"sample-configmap-multi-signed.yaml TestVerifyResourceWithMultipleSignatures":                {verify.ReasonUnknownKey, verify.ReasonUnknownKey, everyOne},
		"sample-configmap-keyless-multi-signed.yaml TestVerifyResourceWithKeylessMultipleSignatures": {},
		"sample-deployment-signed-deployed.yaml TestVerifyResourceWithoutDryRun":                     alsoArchived,
		"sample-deployment-signed.yaml TestInclusionMatch":                                           anArchive,
		"sample-deployment-signed-mutating-1.yaml TestInclusionMatch":                                anArchive,
		"sample-deployment-signed-mutating-2.yaml TestInclusionMatch":                                anArchive,
	},
	"cmd/kubectl-sigstore/cli/testdata": {
		"sample-configmap.yaml VerifyResource Test (No Signature)":           unsigned,
		"sample-configmap-signed.yaml VerifyResource Test (Valid Signature)": anArchive,
	},
	"test/e2e/testdata": {
		"sample-configmap-with-keyless-sig.yaml VerifyResource Test With Keyless-signed Resource":                       anArchive,
		"sample-configmap-without-sig.yaml VerifyResource Test Without Signature (This verification should fail)":       unsigned,
		"sample-configmap-with-keyless-sig.yaml VerifyResource Test With Signer Config (This verification should fail)": alsoArchived,
		"sample-configmap-modified.yaml VerifyResource Test With a Change (This verification should fail)":              alsoArchived,
		"sample-configmap-modified.yaml VerifyResource Test With a Change in Ignored Field":                             anArchive,
	},
})

func flat(folders map[string]map[string]publishedVerdict) map[string]publishedVerdict {
	all := map[string]publishedVerdict{}
	for folder, verdicts := range folders {
		for rest, v := range verdicts {
			file, test, _ := strings.Cut(rest, " ")
			all[strings.TrimSpace(path.Join(folder, file)+" "+test)] = v
		}
	}
	return all
}

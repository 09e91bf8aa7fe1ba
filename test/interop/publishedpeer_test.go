package interop_test

import (
	"encoding/base64"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/polex-dev/polex/pkg/trust"
)

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
			key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(readPublished(t, dir, folder+"/testpub"))))
			if err != nil {
				t.Fatal(err)
			}
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

package interop_test

import (
	"path"
	"strings"

	"github.com/polex-dev/polex/pkg/verify"
)

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

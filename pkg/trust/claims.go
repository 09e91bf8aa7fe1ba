package trust

import (
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/sigstore/fulcio/pkg/certificate"

	"github.com/polex-dev/polex/pkg/trust/policyfile"
)

// claimGetters read the extensions that [policyfile.Claims] names.
var claimGetters = map[string]func(certificate.Extensions) string{
	"githubWorkflowTrigger":               func(e certificate.Extensions) string { return e.GithubWorkflowTrigger },
	"githubWorkflowSHA":                   func(e certificate.Extensions) string { return e.GithubWorkflowSHA },
	"githubWorkflowName":                  func(e certificate.Extensions) string { return e.GithubWorkflowName },
	"githubWorkflowRepository":            func(e certificate.Extensions) string { return e.GithubWorkflowRepository },
	"githubWorkflowRef":                   func(e certificate.Extensions) string { return e.GithubWorkflowRef },
	"buildSignerURI":                      func(e certificate.Extensions) string { return e.BuildSignerURI },
	"buildSignerDigest":                   func(e certificate.Extensions) string { return e.BuildSignerDigest },
	"runnerEnvironment":                   func(e certificate.Extensions) string { return e.RunnerEnvironment },
	"sourceRepositoryURI":                 func(e certificate.Extensions) string { return e.SourceRepositoryURI },
	"sourceRepositoryDigest":              func(e certificate.Extensions) string { return e.SourceRepositoryDigest },
	"sourceRepositoryRef":                 func(e certificate.Extensions) string { return e.SourceRepositoryRef },
	"sourceRepositoryIdentifier":          func(e certificate.Extensions) string { return e.SourceRepositoryIdentifier },
	"sourceRepositoryOwnerURI":            func(e certificate.Extensions) string { return e.SourceRepositoryOwnerURI },
	"sourceRepositoryOwnerIdentifier":     func(e certificate.Extensions) string { return e.SourceRepositoryOwnerIdentifier },
	"buildConfigURI":                      func(e certificate.Extensions) string { return e.BuildConfigURI },
	"buildConfigDigest":                   func(e certificate.Extensions) string { return e.BuildConfigDigest },
	"buildTrigger":                        func(e certificate.Extensions) string { return e.BuildTrigger },
	"runInvocationURI":                    func(e certificate.Extensions) string { return e.RunInvocationURI },
	"sourceRepositoryVisibilityAtSigning": func(e certificate.Extensions) string { return e.SourceRepositoryVisibilityAtSigning },
	"deploymentEnvironment":               func(e certificate.Extensions) string { return e.DeploymentEnvironment },
	"tokenSubject":                        func(e certificate.Extensions) string { return e.Subject },
}

// ClaimNames returns the names of the claims that a policy can require, sorted.
func ClaimNames() []string { return slices.Clone(policyfile.Claims) }

// fulcioArc is the prefix of Fulcio's extensions. Below it, known are the last numbers of those that
// [certificate.ParseExtensions] reads; 7 is a type of subject alternative name.
var (
	fulcioArc = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1}
	known     = certificate.OIDTokenSubject[len(fulcioArc)]
)

// Claims returns the non-empty extensions of a Fulcio certificate by the names of [ClaimNames]. An
// extension of Fulcio that has no name yet has its number, such as 1.3.6.1.4.1.57264.1.25, and a
// value that is not a text is in hexadecimal digits. No policy can require it.
func Claims(extensions []pkix.Extension) (map[string]string, error) {
	parsed, err := certificate.ParseExtensions(extensions)
	if err != nil {
		return nil, fmt.Errorf("read the extensions of the certificate: %w", err)
	}
	claims := map[string]string{}
	for name, get := range claimGetters {
		if value := get(parsed); value != "" {
			claims[name] = value
		}
	}
	for _, e := range extensions {
		if n := len(fulcioArc); len(e.Id) > n && slices.Equal(e.Id[:n], fulcioArc) && (len(e.Id) > n+1 || e.Id[n] > known) {
			var text string
			if certificate.ParseDERString(e.Value, &text) != nil {
				text = hex.EncodeToString(e.Value)
			}
			claims[e.Id.String()] = text
		}
	}
	return claims, nil
}

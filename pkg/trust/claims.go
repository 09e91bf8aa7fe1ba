package trust

import (
	"slices"

	"github.com/sigstore/sigstore-go/pkg/fulcio/certificate"

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
}

// ClaimNames returns the names of the claims that a policy can require, sorted.
func ClaimNames() []string { return slices.Clone(policyfile.Claims) }

// Claims returns the non-empty extensions of a certificate by name.
func Claims(e certificate.Extensions) map[string]string {
	claims := map[string]string{}
	for name, get := range claimGetters {
		if value := get(e); value != "" {
			claims[name] = value
		}
	}
	return claims
}

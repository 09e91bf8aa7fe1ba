package sandbox

import (
	"encoding/json"
	"fmt"

	"github.com/sigstore/fulcio/pkg/certificate"
	"github.com/sigstore/fulcio/pkg/config"
)

// audience is the audience of the tokens that Fulcio accepts.
const audience = "sigstore"

// fulcioConfig makes Fulcio trust the issuers of workflows, and the issuer of people if there is one.
// It maps a GitHub token to a certificate. The extensions are equal to those of the public instance, so that a trust
// policy has the same effect there.
//
// The issuers must already answer: Fulcio requests their keys before this function returns.
func fulcioConfig(people string, issuerURLs ...string) (*config.FulcioConfig, error) {
	const provider = "github-workflow"
	c := config.FulcioConfig{
		OIDCIssuers: map[string]config.OIDCIssuer{},
		CIIssuerMetadata: map[string]config.IssuerMetadata{
			provider: {
				DefaultTemplateValues: map[string]string{
					"url":         githubURL,
					"environment": "", // a job without a deployment environment has no such claim
				},
				SubjectAlternativeNameTemplate: "{{ .url }}/{{ .job_workflow_ref }}",
				ExtensionTemplates: certificate.Extensions{
					GithubWorkflowTrigger:               "event_name",
					GithubWorkflowSHA:                   "sha",
					GithubWorkflowName:                  "workflow",
					GithubWorkflowRepository:            "repository",
					GithubWorkflowRef:                   "ref",
					BuildSignerURI:                      "{{ .url }}/{{ .job_workflow_ref }}",
					BuildSignerDigest:                   "job_workflow_sha",
					RunnerEnvironment:                   "runner_environment",
					SourceRepositoryURI:                 "{{ .url }}/{{ .repository }}",
					SourceRepositoryDigest:              "sha",
					SourceRepositoryRef:                 "ref",
					SourceRepositoryIdentifier:          "repository_id",
					SourceRepositoryOwnerURI:            "{{ .url }}/{{ .repository_owner }}",
					SourceRepositoryOwnerIdentifier:     "repository_owner_id",
					BuildConfigURI:                      "{{ .url }}/{{ .workflow_ref }}",
					BuildConfigDigest:                   "workflow_sha",
					BuildTrigger:                        "event_name",
					RunInvocationURI:                    "{{ .url }}/{{ .repository }}/actions/runs/{{ .run_id }}/attempts/{{ .run_attempt }}",
					SourceRepositoryVisibilityAtSigning: "repository_visibility",
					DeploymentEnvironment:               "environment",
				},
			},
		},
	}
	for _, url := range issuerURLs {
		c.OIDCIssuers[url] = config.OIDCIssuer{
			IssuerURL:   url,
			ClientID:    audience,
			Type:        config.IssuerTypeCIProvider,
			CIProvider:  provider,
			Description: "polex-sandbox",
		}
	}
	if people != "" {
		c.OIDCIssuers[people] = config.OIDCIssuer{
			IssuerURL: people, ClientID: audience, Type: config.IssuerTypeEmail, Description: "polex-sandbox",
		}
	}
	// Only Read creates a configuration that can verify tokens, and its input is bytes.
	encoded, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encode fulcio configuration: %w", err)
	}
	read, err := config.Read(encoded)
	if err != nil {
		return nil, fmt.Errorf("read fulcio configuration: %w", err)
	}
	return read, nil
}

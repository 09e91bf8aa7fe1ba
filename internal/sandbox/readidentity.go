package sandbox

import (
	"fmt"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// fileClaims are the claims of a file, with GitHub's names, and two settings of the token.
type fileClaims struct {
	Audience          string `json:"aud"`
	Issuer            string `json:"iss"`
	Repository        string `json:"repository"`
	RepositoryID      string `json:"repository_id"`
	RepositoryOwnerID string `json:"repository_owner_id"`
	Ref               string `json:"ref"`
	SHA               string `json:"sha"`
	WorkflowRef       string `json:"workflow_ref"`
	JobWorkflowRef    string `json:"job_workflow_ref"`
	EventName         string `json:"event_name"`
	Environment       string `json:"environment"`
	RunnerEnvironment string `json:"runner_environment"`
	RunID             string `json:"run_id"`
	ImmutableSubject  bool   `json:"immutable_subject"`
	Lifetime          string `json:"lifetime"`
}

// ReadIdentity reads an identity and the audience of its token from claims in YAML. A claim that is
// missing stays empty. It returns an error for an unknown claim, and as [Identity.Validate] does.
func ReadIdentity(raw []byte) (id Identity, audience string, err error) {
	var c fileClaims
	if err := yaml.UnmarshalStrict(raw, &c); err != nil {
		return id, "", err
	}
	id = Identity{Issuer: c.Issuer, Repository: c.Repository, RepositoryID: c.RepositoryID, RepositoryOwnerID: c.RepositoryOwnerID,
		Ref: c.Ref, SHA: c.SHA, JobWorkflowRef: c.JobWorkflowRef, EventName: c.EventName, Environment: c.Environment,
		RunnerEnvironment: c.RunnerEnvironment, RunID: c.RunID, ImmutableSubject: c.ImmutableSubject}
	if c.WorkflowRef != "" {
		path, ref, whole := strings.Cut(c.WorkflowRef, "@")
		parts := strings.SplitN(path, "/", 3)
		if !whole || len(parts) < 3 {
			return id, "", fmt.Errorf("workflow_ref %q: expected owner/name/path@ref", c.WorkflowRef)
		}
		id.Repository, id.WorkflowFile, id.Ref = parts[0]+"/"+parts[1], parts[2], ref
	}
	if c.Lifetime != "" {
		if id.TokenLifetime, err = time.ParseDuration(c.Lifetime); err != nil {
			return id, "", fmt.Errorf("lifetime %q: expected a duration such as 10m or -5m", c.Lifetime)
		}
	}
	return id, c.Audience, id.Validate()
}

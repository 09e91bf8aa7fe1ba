package sandbox

import (
	"crypto/rand"
	"strings"
	"time"
)

// claims returns the content of a token for one audience at the time now, with GitHub's claim
// names. The identity must have its defaults.
func (id Identity) claims(audience string, now time.Time) map[string]any {
	if audience == "" {
		// GitHub's default is the page of the owner.
		audience = githubURL + "/" + id.RepositoryOwner
	}
	issued := now
	expires := now.Add(id.TokenLifetime)
	if expires.Before(issued) {
		// The token was valid earlier, so that a verifier rejects it only for its expiry.
		issued = expires.Add(-defaultTokenLifetime)
	}
	c := map[string]any{
		"iss":                   id.Issuer,
		"sub":                   id.tokenSubject(),
		"aud":                   audience,
		"iat":                   issued.Unix(),
		"nbf":                   issued.Unix(),
		"exp":                   expires.Unix(),
		"jti":                   rand.Text(),
		"actor":                 "octocat",
		"actor_id":              "3001",
		"base_ref":              "",
		"head_ref":              "",
		"event_name":            id.EventName,
		"job_workflow_ref":      id.JobWorkflowRef,
		"job_workflow_sha":      id.SHA,
		"ref":                   id.Ref,
		"ref_protected":         "true",
		"ref_type":              id.refType(),
		"repository":            id.Repository,
		"repository_id":         id.RepositoryID,
		"repository_owner":      id.RepositoryOwner,
		"repository_owner_id":   id.RepositoryOwnerID,
		"repository_visibility": id.RepositoryVisibility,
		"run_attempt":           id.RunAttempt,
		"run_id":                id.RunID,
		"run_number":            "1",
		"runner_environment":    id.RunnerEnvironment,
		"sha":                   id.SHA,
		"workflow":              id.Workflow,
		"workflow_ref":          id.workflowRef(),
		"workflow_sha":          id.SHA,
	}
	if id.Environment != "" {
		c["environment"] = id.Environment
	}
	return c
}

// tokenSubject returns the sub claim. It depends on the start of the job: an environment has
// precedence over a pull request, and a pull request over the ref.
func (id Identity) tokenSubject() string {
	repository := id.Repository
	if id.ImmutableSubject {
		_, name, _ := strings.Cut(id.Repository, "/")
		repository = id.RepositoryOwner + "@" + id.RepositoryOwnerID + "/" + name + "@" + id.RepositoryID
	}
	switch {
	case id.Environment != "":
		return "repo:" + repository + ":environment:" + id.Environment
	case id.EventName == "pull_request":
		return "repo:" + repository + ":pull_request"
	default:
		return "repo:" + repository + ":ref:" + id.Ref
	}
}

func (id Identity) refType() string {
	if strings.HasPrefix(id.Ref, "refs/tags/") {
		return "tag"
	}
	return "branch"
}

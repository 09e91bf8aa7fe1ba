package policyfile

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// GitHubConfig is a workflow of GitHub Actions. It stands for an issuer, the subjects and the claims
// of the certificates that its runs get. Every field that can have several values accepts any of
// them.
type GitHubConfig struct {
	// Repository is the repository of the run, as owner/name.
	Repository Values `json:"repository"`
	// RepositoryID is the number of each repository. A repository that takes over a name has
	// another number.
	RepositoryID Numbers `json:"repositoryID"`
	// Workflow is the file of the workflow that signs: its path in the repository of the run, or
	// owner/name/path@ref for a reusable workflow.
	Workflow string `json:"workflow"`
	// Ref is the full ref of the run, such as refs/heads/main.
	Ref Values `json:"ref"`
	// Environment is the deployment environment of the job; none by default means any.
	Environment Values `json:"environment"`
	// CalledBy is the path of the workflow that calls a reusable workflow, in the repository of the
	// run. It is required if Workflow names a repository. Otherwise it is Workflow by default.
	CalledBy Values `json:"calledBy"`
	// Server is the address of GitHub, https://github.com by default.
	Server string `json:"server"`
}

const (
	githubIssuer = "https://token.actions.githubusercontent.com"
	githubServer = "https://github.com"
)

var (
	repositoryForm = regexp.MustCompile(`^[A-Za-z0-9_-]+/[A-Za-z0-9._-]+$`)
	workflowForm   = regexp.MustCompile(`^\.github/workflows/[^/@*?\s]+\.ya?ml$`)
	reusableForm   = regexp.MustCompile(
		`^[A-Za-z0-9_-]+/[A-Za-z0-9._-]+/\.github/workflows/[^/@*?\s]+\.ya?ml@(refs/(heads|tags)/[^*?\s]+|[0-9a-f]{40}|[0-9a-f]{64})$`)
	refForm    = regexp.MustCompile(`^refs/(heads|tags)/[^*?\s]+$`)
	serverForm = regexp.MustCompile(`^https://[A-Za-z0-9.-]+(:[0-9]+)?$`)
)

// QueueRef is the prefix of the branches on which a merge queue runs checks before the merge.
const QueueRef = "refs/heads/gh-readonly-queue/"

// check checks the form of every field.
func (g *GitHubConfig) check() error {
	sample := "OWNER/NAME"
	if len(g.Repository) == 1 {
		sample = g.Repository[0]
	}
	for _, field := range []struct {
		name     string
		values   Values
		required bool
		form     *regexp.Regexp
		expected string
		example  string
	}{
		{"repository", g.Repository, true, repositoryForm, "owner/name such as acme/exceptions", "acme/exceptions"},
		{"repositoryID", Values(g.RepositoryID), false, wholeNumber, "a number, as gh api repos/" + sample +
			" --jq .id prints it", ""},
		{"ref", g.Ref, true, refForm, "a full ref such as refs/heads/main", "refs/heads/main"},
		{"environment", g.Environment, false, nil, "", ""},
		{"calledBy", g.CalledBy, false, workflowForm, "the path of a workflow, such as .github/workflows/merge.yaml",
			""},
	} {
		if field.values == nil && field.required {
			return fmt.Errorf("github.%s is missing: add it, for example %s", field.name, field.example)
		}
		if field.values == nil {
			continue
		}
		if err := field.values.check("github." + field.name); err != nil {
			return err
		}
		for _, value := range field.values {
			if field.form != nil && !field.form.MatchString(value) {
				return fmt.Errorf("github.%s is %q, expected %s", field.name, value, field.expected)
			}
		}
	}
	switch i := slices.IndexFunc(g.Ref, func(ref string) bool { return strings.HasPrefix(ref, QueueRef) }); {
	case i >= 0:
		return fmt.Errorf("github.ref %q is a branch of a merge queue, before the merge: name the branch after it, "+
			"such as refs/heads/main", g.Ref[i])
	case g.RepositoryID != nil && len(g.RepositoryID) != len(g.Repository):
		return fmt.Errorf("github.repository and github.repositoryID differ in length, %d and %d: list one number "+
			"for each repository", len(g.Repository), len(g.RepositoryID))
	case g.Server != "" && !serverForm.MatchString(g.Server):
		return fmt.Errorf("github.server is %q, expected an address such as https://github.acme.example", g.Server)
	case workflowForm.MatchString(g.Workflow):
		return nil
	case !reusableForm.MatchString(g.Workflow):
		return fmt.Errorf("github.workflow is %q, expected a path such as .github/workflows/merge.yaml, or a "+
			"reusable workflow such as acme/workflows/.github/workflows/sign.yaml@refs/heads/main", g.Workflow)
	case g.CalledBy == nil:
		return errors.New("github.workflow is in another repository, so any workflow of the repository could call " +
			"it: list the calling workflow under github.calledBy, such as .github/workflows/merge.yaml")
	}
	return nil
}

// expand returns the subjects and claims of the runs.
func (g *GitHubConfig) expand() (subjects []string, claims map[string]Values) {
	server := cmp.Or(g.Server, githubServer)
	calledBy := g.CalledBy
	if calledBy == nil {
		calledBy = Values{g.Workflow}
	}
	claims = map[string]Values{"sourceRepositoryRef": g.Ref}
	reusable := !workflowForm.MatchString(g.Workflow)
	if reusable {
		subjects = []string{server + "/" + g.Workflow}
	}
	for _, repository := range g.Repository {
		repository = server + "/" + repository
		claims["sourceRepositoryURI"] = append(claims["sourceRepositoryURI"], repository)
		for _, ref := range g.Ref {
			if !reusable {
				subjects = append(subjects, repository+"/"+g.Workflow+"@"+ref)
			}
			for _, caller := range calledBy {
				claims["buildConfigURI"] = append(claims["buildConfigURI"], repository+"/"+caller+"@"+ref)
			}
		}
	}
	if g.RepositoryID != nil {
		claims["sourceRepositoryIdentifier"] = Values(g.RepositoryID)
	}
	if g.Environment != nil {
		claims["deploymentEnvironment"] = g.Environment
	}
	return subjects, claims
}

// Claims are the names of the extensions of Fulcio certificates that a policy can require, sorted
// (Fulcio's docs/oid-info.md, 1.3.6.1.4.1.57264.1.2 to .24).
var Claims = []string{
	"buildConfigDigest", "buildConfigURI", "buildSignerDigest", "buildSignerURI", "buildTrigger",
	"deploymentEnvironment", "githubWorkflowName", "githubWorkflowRef", "githubWorkflowRepository",
	"githubWorkflowSHA", "githubWorkflowTrigger", "runInvocationURI", "runnerEnvironment", "sourceRepositoryDigest",
	"sourceRepositoryIdentifier", "sourceRepositoryOwnerIdentifier", "sourceRepositoryOwnerURI",
	"sourceRepositoryRef", "sourceRepositoryURI", "sourceRepositoryVisibilityAtSigning", "tokenSubject",
}

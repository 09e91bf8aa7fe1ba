package sandbox

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// githubURL is the server of the workflows. Fulcio adds it before every path.
const githubURL = "https://github.com"

const (
	defaultRepository    = "acme/exceptions"
	defaultTokenLifetime = 10 * time.Minute
)

// Identity is a GitHub Actions job as its token describes it. The comments give the defaults.
type Identity struct {
	Issuer               string // the iss claim; the sandbox's IssuerURL
	Repository           string // owner/name; acme/exceptions
	RepositoryID         string // 1001, or a number derived from another repository's name
	RepositoryOwner      string // the owner in Repository
	RepositoryOwnerID    string // 2001, or a number derived from another owner's name
	RepositoryVisibility string // private
	Ref                  string // refs/heads/main
	SHA                  string // 40 hexadecimal digits
	Workflow             string // the workflow's display name; Merge
	WorkflowFile         string // path in the repository; .github/workflows/merge.yaml
	EventName            string // push
	RunnerEnvironment    string // github-hosted
	RunID                string // 4001
	RunAttempt           string // 1
	Environment          string // the deployment environment; none
	// JobWorkflowRef is the workflow that contains the job. For a reusable workflow it differs from
	// the caller's. The default is Repository/WorkflowFile@Ref.
	JobWorkflowRef string
	// ImmutableSubject writes the numbers of the owner and the repository into the sub claim, as for
	// repositories of GitHub since July 2026.
	ImmutableSubject bool
	// TokenLifetime is the time until the token expires; 10 minutes. With a negative one, the token
	// expired that long ago.
	TokenLifetime time.Duration
}

// Subject returns the subject alternative name that Fulcio writes into the certificate.
func (id Identity) Subject() string {
	return githubURL + "/" + id.withDefaults().JobWorkflowRef
}

// withDefaults fills the empty fields, except Issuer, which only a running sandbox knows.
func (id Identity) withDefaults() Identity {
	fill := func(field *string, value string) {
		if *field == "" {
			*field = value
		}
	}
	fill(&id.Repository, defaultRepository)
	owner, _, _ := strings.Cut(id.Repository, "/")
	fill(&id.RepositoryOwner, owner)
	fill(&id.RepositoryID, numericID(id.Repository, defaultRepository, "1001"))
	fill(&id.RepositoryOwnerID, numericID(id.RepositoryOwner, "acme", "2001"))
	fill(&id.RepositoryVisibility, "private")
	fill(&id.Ref, "refs/heads/main")
	fill(&id.SHA, "5a0db0c0ffee5a0db0c0ffee5a0db0c0ffee5a0d")
	fill(&id.Workflow, "Merge")
	fill(&id.WorkflowFile, ".github/workflows/merge.yaml")
	fill(&id.EventName, "push")
	fill(&id.RunnerEnvironment, "github-hosted")
	fill(&id.RunID, "4001")
	fill(&id.RunAttempt, "1")
	fill(&id.JobWorkflowRef, id.workflowRef())
	if id.TokenLifetime == 0 {
		id.TokenLifetime = defaultTokenLifetime
	}
	return id
}

// over returns base with the non-empty fields of id.
func (id Identity) over(base Identity) Identity {
	if id.Repository != "" {
		// Fields that follow from the repository must change with it.
		base.RepositoryID, base.RepositoryOwner, base.RepositoryOwnerID = "", "", ""
	}
	if id.Repository != "" || id.WorkflowFile != "" || id.Ref != "" {
		base.JobWorkflowRef = ""
	}
	into := base.fields()
	for i, field := range id.fields() {
		if *field != "" {
			*into[i] = *field
		}
	}
	base.ImmutableSubject = base.ImmutableSubject || id.ImmutableSubject
	if id.TokenLifetime != 0 {
		base.TokenLifetime = id.TokenLifetime
	}
	return base
}

func (id *Identity) fields() []*string {
	return []*string{&id.Issuer, &id.Repository, &id.RepositoryID, &id.RepositoryOwner, &id.RepositoryOwnerID, &id.RepositoryVisibility,
		&id.Ref, &id.SHA, &id.Workflow, &id.WorkflowFile, &id.EventName, &id.RunnerEnvironment, &id.RunID, &id.RunAttempt, &id.Environment, &id.JobWorkflowRef}
}

// Validate rejects values that GitHub cannot issue or that polex.yaml cannot represent. Empty
// fields are valid.
func (id Identity) Validate() error {
	id = id.withDefaults()
	owner, name, ok := strings.Cut(id.Repository, "/")
	if !ok || owner == "" || name == "" || strings.Contains(name, "/") {
		return fmt.Errorf("repository %q: expected owner/name", id.Repository)
	}
	if !strings.HasPrefix(id.Ref, "refs/") {
		return fmt.Errorf("ref %q: expected a full ref such as refs/heads/main", id.Ref)
	}
	for _, s := range []string{id.Repository, id.Ref, id.WorkflowFile, id.EventName, id.RunnerEnvironment, id.JobWorkflowRef, id.Environment} {
		if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) || r == ' ' }) {
			return fmt.Errorf("identity field %q: spaces and control characters are not allowed", s)
		}
	}
	return nil
}

func (id Identity) workflowRef() string {
	return id.Repository + "/" + id.WorkflowFile + "@" + id.Ref
}

// numericID returns the given number for the known name, and another number for each other name.
// GitHub never gives two repositories the same number, and a policy may require it.
func numericID(name, known, number string) string {
	if name == known {
		return number
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // a hash never fails to write
	return strconv.FormatUint(uint64(h.Sum32()), 10)
}

package sandbox

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// githubURL is the server whose workflows the identities belong to. Fulcio puts it in front of every path it writes.
const githubURL = "https://github.com"

const (
	defaultRepository    = "acme/exceptions"
	defaultTokenLifetime = 10 * time.Minute
)

// Identity is a GitHub Actions job, as its token describes it. Zero fields take the defaults named beside them.
type Identity struct {
	Issuer               string // the iss claim; the sandbox's IssuerURL
	Repository           string // owner/name; acme/exceptions
	RepositoryID         string // 1001, or a number derived from another repository's name
	RepositoryOwner      string // the owner in Repository
	RepositoryOwnerID    string // 2001, or a number derived from another owner's name
	RepositoryVisibility string // private
	Ref                  string // refs/heads/main
	SHA                  string // 40 hexadecimal digits
	Workflow             string // the workflow's display name; sign
	WorkflowFile         string // path in the repository; .github/workflows/sign.yaml
	EventName            string // push
	RunnerEnvironment    string // github-hosted
	RunID                string // 4001
	RunAttempt           string // 1
	Environment          string // the deployment environment; none
	// JobWorkflowRef names the workflow that holds the job, which for a reusable workflow is another
	// one than the caller's; Repository/WorkflowFile@Ref.
	JobWorkflowRef string
	// TokenLifetime is how long after minting the token expires; 10 minutes. A negative one mints a token
	// that has been expired for that long.
	TokenLifetime time.Duration
}

// Subject is the identity that Fulcio writes into the certificate as its subject alternative name.
func (id Identity) Subject() string {
	return githubURL + "/" + id.withDefaults().JobWorkflowRef
}

// withDefaults fills the zero fields, except for Issuer, which only a running sandbox knows.
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
	fill(&id.Workflow, "sign")
	fill(&id.WorkflowFile, ".github/workflows/sign.yaml")
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

// over lays the fields of id that are set over those of base, so that asking for "the same, but from another
// branch" names the branch only.
func (id Identity) over(base Identity) Identity {
	if id.Repository != "" {
		// What follows from the repository must not outlive it.
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
	if id.TokenLifetime != 0 {
		base.TokenLifetime = id.TokenLifetime
	}
	return base
}

func (id *Identity) fields() []*string {
	return []*string{&id.Issuer, &id.Repository, &id.RepositoryID, &id.RepositoryOwner, &id.RepositoryOwnerID, &id.RepositoryVisibility,
		&id.Ref, &id.SHA, &id.Workflow, &id.WorkflowFile, &id.EventName, &id.RunnerEnvironment, &id.RunID, &id.RunAttempt, &id.Environment, &id.JobWorkflowRef}
}

// Validate refuses what GitHub could not have said and what would not survive being written to polex.yaml. Zero
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
	for _, s := range []string{id.Repository, id.Ref, id.WorkflowFile, id.EventName, id.RunnerEnvironment, id.JobWorkflowRef} {
		if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) || r == ' ' }) {
			return fmt.Errorf("identity field %q: spaces and control characters are not allowed", s)
		}
	}
	return nil
}

func (id Identity) workflowRef() string {
	return id.Repository + "/" + id.WorkflowFile + "@" + id.Ref
}

// numericID gives the known name its known number and every other name one of its own, since GitHub never
// gives two repositories the same and a policy may pin it.
func numericID(name, known, number string) string {
	if name == known {
		return number
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // a hash never fails to write
	return strconv.FormatUint(uint64(h.Sum32()), 10)
}

//go:build e2e

package interop

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/sign"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// fromFulcio returns the identity in a certificate of the real Fulcio.
func fromFulcio(t *testing.T, root *trust.Root, id sandbox.Identity) trust.Identity {
	t.Helper()
	text := must.Get(box.Token(id, "sigstore"))(t)
	return must.Get(sign.Keyless(t.Context(), sign.Config{RekorURL: real.RekorURL, Root: root}, real.FulcioURL,
		text, time.Now()))(t).Identity()
}

// authority makes one authority of the policy that the text describes.
func authority(t *testing.T, root *trust.Root, config trust.AuthorityConfig) *trust.Authority {
	t.Helper()
	return must.Get(trust.New(trust.Config{Authorities: []trust.AuthorityConfig{config}}, root))(t).Authorities()[0]
}

// TestForms: the real Fulcio certifies each form of a job's identity, and an authority can require
// it. Another form is rejected.
func TestForms(t *testing.T) {
	root := must.Get(trust.LoadRoot(real.TrustedRootPath))(t)
	github := func(change func(*trust.GitHubConfig)) trust.AuthorityConfig {
		g := &trust.GitHubConfig{Repository: trust.Values{"acme/exceptions"}, RepositoryID: trust.Numbers{"1001"}, Workflow: ".github/workflows/merge.yaml", Ref: trust.Values{"refs/heads/main"}}
		change(g)
		return trust.AuthorityConfig{Issuer: box.IssuerURL, GitHub: g}
	}
	own := github(func(*trust.GitHubConfig) {})
	subject := func(sub string) trust.AuthorityConfig {
		return trust.AuthorityConfig{Issuer: box.IssuerURL, Subject: sandbox.Identity{}.Subject(), Claims: map[string]trust.Values{"tokenSubject": {sub}}}
	}
	enterprise := own
	enterprise.Issuer = box.OtherIssuerURL
	const shared = "acme/workflows/.github/workflows/sign.yaml@refs/tags/v2"
	for _, tc := range []struct {
		name      string
		authority trust.AuthorityConfig
		id, other sandbox.Identity
		want      string // in the rejection of other
	}{
		{"the sub with names", subject("repo:acme/exceptions:ref:refs/heads/main"), sandbox.Identity{}, sandbox.Identity{ImmutableSubject: true}, "tokenSubject"},
		{"the sub with numbers", subject("repo:acme@2001/exceptions@1001:ref:refs/heads/main"), sandbox.Identity{ImmutableSubject: true}, sandbox.Identity{}, "tokenSubject"},
		{"an environment", github(func(g *trust.GitHubConfig) { g.Environment = trust.Values{"exceptions"} }), sandbox.Identity{Environment: "exceptions"}, sandbox.Identity{}, "deploymentEnvironment"},
		{"a reusable workflow", github(func(g *trust.GitHubConfig) {
			g.Workflow, g.CalledBy = shared, trust.Values{".github/workflows/merge.yaml"}
		}),
			sandbox.Identity{JobWorkflowRef: shared}, sandbox.Identity{JobWorkflowRef: shared, Repository: "eve/x"}, "eve/x"},
		{"the branch after a merge queue", own, sandbox.Identity{},
			sandbox.Identity{Ref: "refs/heads/gh-readonly-queue/main/pr-7-5a0db0c", EventName: "merge_group"}, "a merge queue signed it before the merge"},
		{"the issuer of an enterprise", enterprise, sandbox.Identity{Issuer: box.OtherIssuerURL}, sandbox.Identity{}, "issuer"},
	} {
		a := authority(t, root, tc.authority)
		is, why := a.Matches(fromFulcio(t, root, tc.id))
		expect.That(t, is, "%s: %s", tc.name, why)
		if is, why := a.Matches(fromFulcio(t, root, tc.other)); is || !strings.Contains(why, tc.want) {
			t.Errorf("%s: the other form: %v, %q, want %q", tc.name, is, why, tc.want)
		}
	}
}

// others change one property of a job, by the claim that names it. The workflow that signs and its
// caller are the same for a job of its own workflow.
var others = map[string]func(*sandbox.Identity){
	"issuer": func(id *sandbox.Identity) { id.Issuer = box.OtherIssuerURL },
	"subject": func(id *sandbox.Identity) {
		id.JobWorkflowRef = strings.Replace(id.JobWorkflowRef, ".yaml@", "-evil.yaml@", 1)
	},
	"sourceRepositoryURI":             func(id *sandbox.Identity) { id.Repository = "eve/x" },
	"sourceRepositoryIdentifier":      func(id *sandbox.Identity) { id.RepositoryID = "9" },
	"sourceRepositoryOwnerIdentifier": func(id *sandbox.Identity) { id.RepositoryOwnerID = "9" },
	"sourceRepositoryRef":             func(id *sandbox.Identity) { id.Ref = "refs/heads/dev" },
	"buildConfigURI":                  func(id *sandbox.Identity) { id.WorkflowFile = ".github/workflows/any.yaml" },
	"buildTrigger":                    func(id *sandbox.Identity) { id.EventName = "pull_request_target" },
	"runnerEnvironment":               func(id *sandbox.Identity) { id.RunnerEnvironment += "-x" },
	"deploymentEnvironment":           func(id *sandbox.Identity) { id.Environment = "" },
}

// TestDocumentedAuthorities: each authority of a workflow in the documentation accepts the
// certificate of the real Fulcio for its job. A job that differs in one claim is rejected for it.
func TestDocumentedAuthorities(t *testing.T) {
	root := must.Get(trust.LoadRoot(real.TrustedRootPath))(t)
	met := 0
	for place, c := range documented(t) {
		id, required := job(t, c)
		c.Issuer = box.IssuerURL
		if c.GitHub != nil {
			g := *c.GitHub
			g.Server, c.GitHub = "", &g
		}
		a := authority(t, root, c)
		if is, why := a.Matches(fromFulcio(t, root, id)); !is {
			t.Errorf("%s: %s", place, why)
			continue
		}
		met++
		for _, claim := range append(required, "issuer", "subject") {
			other := id
			others[claim](&other)
			// A change of the repository or of the ref also changes the caller.
			if is, why := a.Matches(fromFulcio(t, root, other)); is || !strings.Contains(why, claim) && (!strings.HasPrefix(claim, "sourceRepository") || !strings.Contains(why, "buildConfigURI")) {
				t.Errorf("%s, another %s: %v, %q", place, claim, is, why)
			}
		}
	}
	expect.That(t, met >= 10, "there are %d authorities of workflows in the documentation", met)
}

var (
	yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")
	workflow  = regexp.MustCompile(`^https://[^/]+/([^/]+/[^/]+)/(\.github/workflows/[^@]+)@(.+)$`)
)

// documented returns the authorities of GitHub's workflows in pages and examples, by their place.
func documented(t *testing.T) map[string]trust.AuthorityConfig {
	t.Helper()
	found := map[string]trust.AuthorityConfig{}
	collect := func(path, text string) {
		text = strings.NewReplacer("<owner>", "acme", "<repository>", "exceptions", "<repository id>", "1001", "<owner id>", "2001", "https://github.acme.example/platform", "https://github.com/platform").Replace(text)
		doc, err := exception.Parse([]byte(dedented(text)), path)
		if err != nil || doc.Text("apiVersion") != "polex.dev/v1alpha1" {
			return
		}
		config, err := trust.Read(doc, "")
		expect.That(t, err == nil, "%s: %v", path, err)
		for _, c := range config.Authorities {
			if c.GitHub != nil || strings.Contains(c.Subject, "/.github/workflows/") {
				found[c.Source] = c
			}
		}
	}
	for _, folder := range []string{"docs", "examples", "policies", "README.md"} {
		must.Do(t, filepath.WalkDir(fixture.FromRoot(folder), func(path string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".md") && !strings.HasSuffix(path, ".yaml") {
				return err
			}
			text := read(t, path)
			if strings.HasSuffix(path, ".yaml") {
				collect(path, text)
				return nil
			}
			for i, block := range yamlBlock.FindAllStringSubmatch(regexp.MustCompile("(?m)^ +```").ReplaceAllString(text, "```"), -1) {
				collect(path+"#"+string(rune('a'+i)), block[1])
			}
			return nil
		}))
	}
	return found
}

// dedented removes the indentation of the first line from every line, as of a list in a page.
func dedented(text string) string {
	indent := text[:len(text)-len(strings.TrimLeft(text, " "))]
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimPrefix(line, indent)
	}
	return strings.Join(lines, "\n")
}

// job returns the job that an authority accepts, and the claims that it requires.
func job(t *testing.T, c trust.AuthorityConfig) (id sandbox.Identity, required []string) {
	t.Helper()
	for name, values := range c.Claims {
		must.That(t, others[name] != nil, "%s requires %s, which has no counterexample", c.Source, name)
		required = append(required, name)
		switch name {
		case "sourceRepositoryIdentifier":
			id.RepositoryID = values[0]
		case "sourceRepositoryOwnerIdentifier":
			id.RepositoryOwnerID = values[0]
		case "buildTrigger":
			id.EventName = values[0]
		case "runnerEnvironment":
			id.RunnerEnvironment = values[0]
		case "deploymentEnvironment":
			id.Environment = values[0]
		}
	}
	g := c.GitHub
	if g == nil {
		m := workflow.FindStringSubmatch(c.Subject)
		must.That(t, m != nil, "%s: %q is not a workflow", c.Source, c.Subject)
		id.Repository, id.WorkflowFile, id.Ref = m[1], m[2], m[3]
		id.JobWorkflowRef = strings.TrimPrefix(sandbox.Identity{Repository: m[1], WorkflowFile: m[2], Ref: m[3]}.Subject(), "https://github.com/")
		return id, required
	}
	required = append(required, "sourceRepositoryURI", "sourceRepositoryRef", "buildConfigURI")
	id.Repository, id.WorkflowFile, id.Ref = g.Repository[0], g.Workflow, g.Ref[0]
	id.JobWorkflowRef = id.Repository + "/" + g.Workflow + "@" + id.Ref
	if g.CalledBy != nil {
		id.WorkflowFile, id.JobWorkflowRef = g.CalledBy[0], g.Workflow
	}
	if g.RepositoryID != nil {
		id.RepositoryID = g.RepositoryID[0]
		required = append(required, "sourceRepositoryIdentifier")
	}
	if g.Environment != nil {
		id.Environment = g.Environment[0]
		required = append(required, "deploymentEnvironment")
	}
	return id, required
}

package trust_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/test/expect"
)

// The runs of a workflow in its own repository, and of a reusable one that this workflow calls.
const (
	ownWorkflow = `apiVersion: polex.dev/v1alpha1
kind: TrustPolicy
authorities:
  - name: merge
    github:
      repository: [acme/exceptions, acme/waivers]
      repositoryID: [1001, "1002"]
      workflow: .github/workflows/merge.yaml
      ref: refs/heads/main
      environment: signing
`
	reusable = `apiVersion: polex.dev/v1alpha1
kind: TrustPolicy
authorities:
  - github:
      repository: acme/exceptions
      workflow: acme/workflows/.github/workflows/sign.yaml@refs/tags/v2
      ref: [refs/heads/main, refs/heads/release]
      calledBy: .github/workflows/merge.yaml
`
)

// run is the identity in the certificate of a run. A reusable workflow is the subject.
func run(repository, id, workflow, caller, ref string) trust.Identity {
	return trust.Identity{Issuer: "https://token.actions.githubusercontent.com", Type: "uri", Subject: "https://github.com/" + workflow, Claims: map[string]string{
		"sourceRepositoryURI": "https://github.com/" + repository, "sourceRepositoryIdentifier": id, "sourceRepositoryRef": ref,
		"buildConfigURI": "https://github.com/" + repository + "/" + caller + "@" + ref, "deploymentEnvironment": "signing", "buildTrigger": "push",
	}}
}

// TestGitHub: an authority of GitHub accepts its runs. A run with one other value is rejected for that
// value.
func TestGitHub(t *testing.T) {
	const path, main = ".github/workflows/merge.yaml", "refs/heads/main"
	shared := "acme/workflows/.github/workflows/sign.yaml@refs/tags/v2"
	own := run("acme/exceptions", "1001", "acme/exceptions/"+path+"@"+main, path, main)
	called := run("acme/exceptions", "1001", shared, path, main)
	claim := func(name, value string) func(*trust.Identity) {
		return func(id *trust.Identity) { id.Claims[name] = value }
	}
	for _, tc := range []struct {
		name, policy string
		id           trust.Identity
		bend         func(*trust.Identity)
		want         string
	}{
		{"own", ownWorkflow, own, nil, ""},
		{"own, the second repository", ownWorkflow, run("acme/waivers", "1002", "acme/waivers/"+path+"@"+main, path, main), nil, ""},
		{"own, a third repository", ownWorkflow, run("acme/other", "1003", "acme/other/"+path+"@"+main, path, main), nil, "subject"},
		{"own, recreated repository", ownWorkflow, own, claim("sourceRepositoryIdentifier", "9"), "sourceRepositoryIdentifier"},
		{"own, no number", ownWorkflow, own, claim("sourceRepositoryIdentifier", ""), "sourceRepositoryIdentifier"},
		{"own, no environment", ownWorkflow, own, claim("deploymentEnvironment", ""), "deploymentEnvironment"},
		{"own, another environment", ownWorkflow, own, claim("deploymentEnvironment", "Signing"), "deploymentEnvironment"},
		{"own, another branch", ownWorkflow, run("acme/exceptions", "1001", "acme/exceptions/"+path+"@refs/heads/dev", path, "refs/heads/dev"), nil, "subject"},
		{"own, a merge queue", ownWorkflow, run("acme/exceptions", "1001", "acme/exceptions/"+path+"@refs/heads/gh-readonly-queue/main/pr-7-0", path, "refs/heads/gh-readonly-queue/main/pr-7-0"), nil, "a merge queue signed it before the merge"},
		{"own, called by another workflow", ownWorkflow, run("acme/exceptions", "1001", "acme/exceptions/"+path+"@"+main, ".github/workflows/any.yaml", main), nil, "buildConfigURI"},
		{"own, called by a stranger", ownWorkflow, run("eve/x", "6", "acme/exceptions/"+path+"@"+main, path, main), nil, "buildConfigURI"},
		{"own, another issuer", ownWorkflow, own, func(id *trust.Identity) { id.Issuer += "/acme" }, "issuer"},
		{"reusable", reusable, called, nil, ""},
		{"reusable, the second branch", reusable, run("acme/exceptions", "1001", shared, path, "refs/heads/release"), nil, ""},
		{"reusable, another branch", reusable, run("acme/exceptions", "1001", shared, path, "refs/heads/dev"), nil, "refs/heads/dev"},
		{"reusable, another repository calls it", reusable, run("eve/x", "6", shared, path, main), nil, "eve/x"},
		{"reusable, another workflow calls it", reusable, run("acme/exceptions", "1001", shared, ".github/workflows/any.yaml", main), nil, "any.yaml"},
		{"reusable, another version", reusable, run("acme/exceptions", "1001", "acme/workflows/.github/workflows/sign.yaml@refs/heads/v2", path, main), nil, "subject"},
		{"reusable, the caller itself signs", reusable, own, nil, "subject"},
	} {
		p, _, err := load(tc.policy, "")
		expect.OK(t, err)
		id := tc.id
		id.Claims = maps.Clone(id.Claims)
		if tc.bend != nil {
			tc.bend(&id)
		}
		if is, why := p.Authorities()[0].Matches(id); is != (tc.want == "") || !strings.Contains(why, tc.want) {
			t.Errorf("%s: %v, %q, want %q", tc.name, is, why, tc.want)
		}
	}
}

// TestGitHubSettings: an authority of GitHub that would accept nobody, or anybody, does not load.
// The schema rejects every mistake that does not need a comparison.
func TestGitHubSettings(t *testing.T) {
	s, dir := schema(t), beside(t)
	const schemaToo, loadingAlone = true, false
	for _, tc := range []struct {
		text, old, with, want string
		schema                bool
	}{
		{ownWorkflow, "", "", "", false},
		{reusable, "", "", "", false},
		{reusable, "refs/tags/v2", strings.Repeat("0a", 20), "", false},
		{reusable, "  - github:", "  - issuer: https://token.actions.githubusercontent.com/acme\n    claims: {buildTrigger: [push, schedule]}\n    github:", "", false},
		{ownWorkflow, "    github:", "    issuer: https://github.acme.example/_services/token\n    github:\n      server: https://github.acme.example", "", false},
		{ownWorkflow, "      environment: signing\n", "      server: https://github.acme.example\n", "add issuer, such as https://github.acme.example/_services/token", loadingAlone},

		{reusable, "      calledBy: .github/workflows/merge.yaml\n", "", "list the calling workflow under github.calledBy", schemaToo},
		{reusable, "calledBy: .github/workflows/merge.yaml", "calledBy: acme/exceptions", "github.calledBy", schemaToo},
		{reusable, "calledBy: .github/workflows/merge.yaml", "calledBy: []", "calledBy is empty", schemaToo},
		{reusable, "calledBy: .github/workflows/merge.yaml", "calledBy: .github/workflows/*.yaml", "github.calledBy", schemaToo},
		{reusable, "@refs/tags/v2", "", "github.workflow", schemaToo},
		{reusable, "@refs/tags/v2", "@v2", "github.workflow", schemaToo},
		{reusable, "@refs/tags/v2", "@refs/pull/1/merge", "github.workflow", schemaToo},
		{ownWorkflow, "      workflow: .github/workflows/merge.yaml\n", "", "github.workflow", schemaToo},
		{ownWorkflow, "workflow: .github/workflows/merge.yaml", "workflow: merge.yaml", "github.workflow", schemaToo},
		{ownWorkflow, "workflow: .github/workflows/merge.yaml", "workflow: .github/workflows/a/merge.yaml", "github.workflow", schemaToo},
		{ownWorkflow, "      ref: refs/heads/main\n", "", "github.ref is missing", schemaToo},
		{ownWorkflow, "ref: refs/heads/main", "ref: main", "github.ref", schemaToo},
		{ownWorkflow, "ref: refs/heads/main", "ref: refs/heads/*", "github.ref", schemaToo},
		{ownWorkflow, "ref: refs/heads/main", "ref: refs/pull/1/merge", "github.ref", schemaToo},
		{ownWorkflow, "ref: refs/heads/main", "ref: refs/heads/gh-readonly-queue/main/pr-7-0", "merge queue", loadingAlone},
		{ownWorkflow, "[acme/exceptions, acme/waivers]", "acme", "github.repository", schemaToo},
		{ownWorkflow, "[acme/exceptions, acme/waivers]", "[acme/*]", "github.repository", schemaToo},
		{ownWorkflow, "[acme/exceptions, acme/waivers]", "[acme/exceptions, acme/exceptions]", "twice", schemaToo},
		{ownWorkflow, "[acme/exceptions, acme/waivers]", "acme/exceptions", "list one number for each repository", loadingAlone},
		{ownWorkflow, `[1001, "1002"]`, "1001", "list one number for each repository", loadingAlone},
		{ownWorkflow, `[1001, "1002"]`, "[1001, abc]", "github.repositoryID", schemaToo},
		{ownWorkflow, `[1001, "1002"]`, "[1001, 1.5]", "is not text", schemaToo},
		{ownWorkflow, `[1001, "1002"]`, "[1001, -1]", "is not text", schemaToo},
		{ownWorkflow, `[1001, "1002"]`, "[1001, null]", "null", schemaToo},
		{ownWorkflow, "environment: signing", `environment: ""`, "empty", schemaToo},
		{ownWorkflow, "environment: signing", "server: http://github.acme.example", "github.server", schemaToo},
		{ownWorkflow, "environment: signing", "organization: acme", "organization", schemaToo},
		{ownWorkflow, "    github:", "    subject: https://github.com/acme\n    github:", "remove subject", schemaToo},
		{ownWorkflow, "    github:", "    subjectRegexp: https://github.com/acme/.*\n    github:", "remove subject", schemaToo},
		{ownWorkflow, "    github:", "    claims: {sourceRepositoryRef: refs/heads/dev}\n    github:", "github states the claim sourceRepositoryRef", loadingAlone},
		{ownWorkflow, "    github:", "    keyFile: ci.pub\n    github:", "either a key or an identity", schemaToo},
		{ownWorkflow, "    github:", "    issuer: ftp://x\n    github:", "issuer", schemaToo},
	} {
		if !strings.Contains(tc.text, tc.old) {
			t.Fatalf("%q is not in the example", tc.old)
		}
		_, doc, err := load(strings.Replace(tc.text, tc.old, tc.with, 1), dir)
		t.Run(fmt.Sprintf("%q instead of %q", tc.with, tc.old), func(t *testing.T) {
			expect.Outcome(t, err, tc.want)
			expect.Is(t, "refused by the schema", tc.schema, validate(t, s, doc) != nil)
		})
	}
}

// BenchmarkMatches compares one run with an authority of one and of 1,000 repositories.
func BenchmarkMatches(b *testing.B) {
	const path, main = ".github/workflows/merge.yaml", "refs/heads/main"
	id := run("acme/r0", "0", "acme/r0/"+path+"@"+main, path, main)
	for _, repositories := range []int{1, 1000} {
		g := &trust.GitHubConfig{Workflow: path, Ref: trust.Values{main}}
		for i := range repositories {
			g.Repository = append(g.Repository, fmt.Sprintf("acme/r%d", i))
			g.RepositoryID = append(g.RepositoryID, fmt.Sprint(i))
		}
		p := expect.Value(trust.New(trust.Config{Authorities: []trust.AuthorityConfig{{GitHub: g}}}, root(b)))(b)
		b.Run(fmt.Sprintf("repositories=%d", repositories), func(b *testing.B) {
			for b.Loop() {
				if is, why := p.Authorities()[0].Matches(id); !is {
					b.Fatal(why)
				}
			}
		})
	}
}

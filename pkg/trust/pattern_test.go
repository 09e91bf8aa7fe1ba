package trust_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
	"github.com/polex-dev/polex/test/schema"
)

// madeFrom makes the only authority of a policy with a pattern.
func madeFrom(r *trust.Root, expression string) (*trust.Authority, error) {
	p, err := trust.New(trust.Config{Authorities: []trust.AuthorityConfig{{Name: "a", Issuer: issuer, SubjectRegexp: expression}}}, r)
	if err != nil {
		return nil, err
	}
	return p.Authorities()[0], nil
}

// taken returns the type of subject for which an authority matches a name, or "".
func taken(a *trust.Authority, name string) string {
	for _, kind := range []string{"uri", "email"} {
		if is, _ := a.Matches(trust.Identity{Issuer: issuer, Subject: name, Type: kind}); is {
			return kind
		}
	}
	return ""
}

// TestPatternsThatStand: a pattern with a literal host or domain is valid. Only dots in hosts and
// domains change their meaning.
func TestPatternsThatStand(t *testing.T) {
	const acme = "https://github.com/acme/"
	r := root(t)
	for _, tc := range []struct{ expression, kind, fits, other string }{
		{`https://github.com/acme/.*`, "uri", acme + "a", "https://githubXcom/acme/a"},
		{`https://github\.com/acme/.*`, "uri", acme + "a", "https://githubXcom/acme/a"},
		{`https:\/\/github.com\/acme\/.*`, "uri", acme + "a", "https://githubXcom/acme/a"},
		{`https:\/\/github\.com\/acme\/.*`, "uri", acme + "a", "https://evil.example/https://github.com/acme/a"},
		{`^https://github.com/acme/.*$`, "uri", acme + "a", acme + "a\n"},
		{`\Ahttps://github.com/acme/.*\z`, "uri", acme + "a", "https://github.com/acmeX/a"},
		{`https://github.com/acme/a|https://github.com/acme/b`, "uri", acme + "b", "https://githubXcom/acme/b"},
		{`^https://github.com/acme/a$|^https://github.com/acme/b$`, "uri", acme + "b", acme + "ab"},
		{`(https://github.com/acme/a|https://github.com/acme/b)@refs/heads/main`, "uri", acme + "b@refs/heads/main", acme + "b"},
		{`https://github.com/(acme|acme-ops)/.+`, "uri", "https://github.com/acme-ops/a", "https://github.com/acmeXops/a"},
		{`(?m)^https://github.com/acme/.+$`, "uri", acme + "a", "https://evil.example\n" + acme + "a"},
		{`https://git.acme.example:8443/.+`, "uri", "https://git.acme.example:8443/a", "https://git.acme.example/a"},
		{`spiffe://acme.example/ns/.+`, "uri", "spiffe://acme.example/ns/a", "spiffe://acmeXexample/ns/a"},
		{`https://github.com/acme/a.b`, "uri", acme + "aXb", acme + "ab"},
		{`.*@acme.example`, "email", "anna@acme.example", "anna@acmeXexample"},
		{`.*@acme\.example`, "email", "anna@acme.example", "anna@acme.example.evil"},
		{`^(anna|ben)@acme.example$`, "email", "ben@acme.example", "ben@acmeXexample"},
		{`anna@acme.example|ben@acme.example`, "email", "anna@acme.example", "anna@acmeXexample"},
		{`(anna@acme.example|ben@acme.example)\z`, "email", "ben@acme.example", "ben@acmeXexample"},
		{`[a-z.]+@ops-team.acme.example`, "email", "a.b@ops-team.acme.example", "a@acme.example"},
	} {
		t.Run(tc.expression, func(t *testing.T) {
			a := must.Get(madeFrom(r, tc.expression))(t)
			expect.Is(t, tc.fits, tc.kind, taken(a, tc.fits))
			expect.Is(t, tc.other, "", taken(a, tc.other))
		})
	}
}

// TestPatternsThatFloat: a pattern without a literal host or domain is rejected, with advice.
func TestPatternsThatFloat(t *testing.T) {
	r := root(t)
	for _, expression := range []string{
		`.*`, `.+`, `()`, `|x`, `x`, `acme`, `[^\n]*`, `\S+`,
		`github.com/acme/.*`, `.*github.com/acme/.*`, `.*/acme/.*`, `//github.com/acme/.*`,
		`https://.*`, `https://.*/acme/.*`, `https://[^/]+/acme/.*`, `https:///.*`, `https?://github.com/acme/.*`, `.*://github.com/acme/.*`,
		`https://github.com`, `https://github.com.*`, `https://github.com.+/acme/.*`, `https://github.com/?.*`, `https://github.com(/acme)?.*`,
		`https://github.*com/acme/.*`, `https://github.?com/acme/.*`, `https://git.{3}.com/acme/.*`, `https://\w+.com/acme/.*`,
		`https://github[.]?com/acme/.*`, `https://git(hub|lab).com/acme/.*`, `https://github.com@evil.example/.*`,
		`https://github.com/a|.*evil`, `https://github.com/a|`, `.*|https://github.com/a`, `https://github.com/acme/a|https://gitlab.com/acme/a`,
		`(https://github.com/acme/)?.*`, `(https://github.com/acme/)*`, `(?:https://github.com/acme/){0,1}.*`, `(?i)https://github.com/acme/.*`, `(?i)HTTPS://.*`, `https://github.com/acme/.+|.*`, `(?i:https://github.com)/acme/.*`,
		`\Qhttps://github.com/acme/\E.*`, `https:\\/\\/github.com/acme/.*`,
		`.+@.+`, `.*@[a-z]+.example`, `.*@acme.example.*`, `.*@(acme|evil).example`, `.*@.*.acme.example`, `.*acme.example`, `anna`, `.*@`, `.*@(?i)acme.example`,
		`.*@acme.example|evil`, `.*@acme.example|.*`, `(.*@acme.example)?`, `.*@acme.example?`, `.*@acme.exampl[e]?`, `.*@acme.example+`,
		`(https://)?anna@acme.example`, `.*://.*@acme.example`, `(https:\/\/)?anna@acme\.example`, `.*://.*@acme\.example`, `(?i).*@acme.example`, `(?i).*@acme\.example`,
		`https://github.com/acme/ .*`, "https://github.com/acme/.*\n", "https://github.com/acme/\u202e.*",
		`a)|(b`, `a)|(?:.*`, `a\`, `\Qa`, `[a`, `https://github.com/acme/.*)|(.*`, `https://github.com/acme/a\`, `https://github.com/acme/\Qa`, `https://github.com/acme/[a`,
		strings.Repeat("a", 1025),
	} {
		t.Run(expression, func(t *testing.T) { expect.Failure(madeFrom(r, expression))(t, "subjectRegexp") })
	}
	// The error says how to write it.
	expect.Failure(madeFrom(r, `.*/acme/.*`))(t, "https://github.com/acme/.*", ".*@acme.example")
	expect.Failure(madeFrom(r, "https://github.com/acme/"+strings.Repeat("a", 1025)))(t, "1024")
}

// TestSubjects: a subject must be one that a certificate can have.
func TestSubjects(t *testing.T) {
	for text, ok := range map[string]bool{
		"https://github.com/acme/a/.github/workflows/s.yaml@refs/heads/main": true, "spiffe://acme.example/ns/a": true, "anna@acme.example": true,
		"anna": false, "github.com/acme": false, "://x": false, "https://": false, "https:///x": false, "@": false, "anna@": false, "@acme.example": false,
		"a@b@c": false, "anna @acme.example": false, "anna@acme.example\n": false, "anna\u00a0@acme.example": false, "an\u0000na@acme.example": false,
		"an\u200bna@acme.example": false, "https://github.com/acme/\u202ea": false, "*@acme.example": false, "*": false, "anna?@acme.example": false, " ": false, subject + "\n": false, "https://github.com/acme/?": false,
	} {
		_, err := trust.New(trust.Config{Authorities: []trust.AuthorityConfig{{Name: "a", Issuer: issuer, Subject: text}}}, root(t))
		expect.That(t, (err == nil) == ok && (ok || strings.Contains(err.Error(), ": subject ")), "%q: %v", text, err)
	}
}

// FuzzSubjectRegexp: a valid pattern never matches an identity of another host or domain.
func FuzzSubjectRegexp(f *testing.F) {
	f.Add(`https://github.com/acme/.*`, "https://github.com/acme/a")
	f.Add(`^(anna|ben)@acme.example$`, "ben@acme.example")
	f.Add(`https://github.com/a|.*evil`, "evil")
	f.Add(`(?i)HTTPS://a.b/|\Qx\E`, "x")
	f.Add(`(a@b.c|d@b.c){1,2}\z`, "a@b.c")
	r := root(f)
	f.Fuzz(func(t *testing.T, expression, name string) {
		a, err := madeFrom(r, expression)
		if err != nil {
			return
		}
		for _, stranger := range []string{"", "x", "https://stranger.invalid/a/b@c", "stranger@stranger.invalid", "https:///", "@"} {
			expect.That(t, taken(a, stranger) == "", "%q takes %q", expression, stranger)
		}
		switch taken(a, name) {
		case "uri":
			scheme, rest, ok := strings.Cut(name, "://")
			host, path, slash := strings.Cut(rest, "/")
			must.That(t, ok && slash && host != "", "%q takes %q, which has no host", expression, name)
			for _, moved := range []string{scheme + "://evil." + host + "/" + path, scheme + "://" + host + ".evil/" + path, scheme + "://x@" + host + "/" + path,
				scheme + "x://" + host + "/" + path, "x" + name, name[1:], scheme + "://" + strings.Replace(host, ".", "x", 1) + "/" + path} {
				expect.That(t, moved == name || taken(a, moved) == "",
					"%q takes %q as it does %q", expression, moved, name)
			}
		case "email":
			i := strings.LastIndex(name, "@")
			must.That(t, i >= 0 && i != len(name)-1, "%q takes %q, which has no domain", expression, name)
			for _, moved := range []string{name + ".evil", name[:i+1] + "evil." + name[i+1:], name[:i+1] + strings.Replace(name[i+1:], ".", "x", 1), name[:i] + "x" + name[i+1:]} {
				expect.That(t, moved == name || taken(a, moved) == "",
					"%q takes %q as it does %q", expression, moved, name)
			}
		}
	})
}

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

// TestGitHub: an authority of GitHub accepts its runs. A run with one other value is rejected for that value.
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
		must.Do(t, err)
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
	s, dir := schema.Compile(t, schemaFile), beside(t)
	const schemaToo, loadingAlone = true, false
	for text, edits := range map[string][]edit{
		ownWorkflow: {
			{},
			{old: "    github:", with: "    issuer: https://github.acme.example/_services/token\n    github:\n      server: https://github.acme.example"},
			{"      environment: signing\n", "      server: https://github.acme.example\n", loadingAlone, "", "add issuer, such as https://github.acme.example/_services/token"},
			{"      workflow: .github/workflows/merge.yaml\n", "", schemaToo, "", "github.workflow"},
			{"workflow: .github/workflows/merge.yaml", "workflow: merge.yaml", schemaToo, "", "github.workflow"},
			{"workflow: .github/workflows/merge.yaml", "workflow: .github/workflows/a/merge.yaml", schemaToo, "", "github.workflow"},
			{"      ref: refs/heads/main\n", "", schemaToo, "", "github.ref is missing"},
			{"ref: refs/heads/main", "ref: main", schemaToo, "", "github.ref"},
			{"ref: refs/heads/main", "ref: refs/heads/*", schemaToo, "", "github.ref"},
			{"ref: refs/heads/main", "ref: refs/pull/1/merge", schemaToo, "", "github.ref"},
			{"ref: refs/heads/main", "ref: refs/heads/gh-readonly-queue/main/pr-7-0", loadingAlone, "", "merge queue"},
			{"[acme/exceptions, acme/waivers]", "acme", schemaToo, "", "github.repository"},
			{"[acme/exceptions, acme/waivers]", "[acme/*]", schemaToo, "", "github.repository"},
			{"[acme/exceptions, acme/waivers]", "[acme/exceptions, acme/exceptions]", schemaToo, "", "twice"},
			{"[acme/exceptions, acme/waivers]", "acme/exceptions", loadingAlone, "", "list one number for each repository"},
			{`[1001, "1002"]`, "1001", loadingAlone, "", "list one number for each repository"},
			{`[1001, "1002"]`, "[1001, abc]", schemaToo, "", "github.repositoryID"},
			{`[1001, "1002"]`, "[1001, 1.5]", schemaToo, "", "is not text"},
			{`[1001, "1002"]`, "[1001, -1]", schemaToo, "", "is not text"},
			{`[1001, "1002"]`, "[1001, null]", schemaToo, "", "null"},
			{"environment: signing", `environment: ""`, schemaToo, "", "empty"},
			{"environment: signing", "server: http://github.acme.example", schemaToo, "", "github.server"},
			{"environment: signing", "organization: acme", schemaToo, "", "organization"},
			{"    github:", "    subject: https://github.com/acme\n    github:", schemaToo, "", "remove subject"},
			{"    github:", "    subjectRegexp: https://github.com/acme/.*\n    github:", schemaToo, "", "remove subject"},
			{"    github:", "    claims: {sourceRepositoryRef: refs/heads/dev}\n    github:", loadingAlone, "", "github states the claim sourceRepositoryRef"},
			{"    github:", "    keyFile: ci.pub\n    github:", schemaToo, "", "either a key or an identity"},
			{"    github:", "    issuer: ftp://x\n    github:", schemaToo, "", "issuer"},
		},
		reusable: {
			{},
			{old: "refs/tags/v2", with: strings.Repeat("0a", 20)},
			{old: "  - github:", with: "  - issuer: https://token.actions.githubusercontent.com/acme\n    claims: {buildTrigger: [push, schedule]}\n    github:"},
			{"      calledBy: .github/workflows/merge.yaml\n", "", schemaToo, "", "list the calling workflow under github.calledBy"},
			{"calledBy: .github/workflows/merge.yaml", "calledBy: acme/exceptions", schemaToo, "", "github.calledBy"},
			{"calledBy: .github/workflows/merge.yaml", "calledBy: []", schemaToo, "", "calledBy is empty"},
			{"calledBy: .github/workflows/merge.yaml", "calledBy: .github/workflows/*.yaml", schemaToo, "", "github.calledBy"},
			{"@refs/tags/v2", "", schemaToo, "", "github.workflow"},
			{"@refs/tags/v2", "@v2", schemaToo, "", "github.workflow"},
			{"@refs/tags/v2", "@refs/pull/1/merge", schemaToo, "", "github.workflow"},
		},
	} {
		for _, e := range edits {
			e.load(t, s, dir, text)
		}
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
		p := must.Get(trust.New(trust.Config{Authorities: []trust.AuthorityConfig{{GitHub: g}}}, root(b)))(b)
		b.Run(fmt.Sprintf("repositories=%d", repositories), func(b *testing.B) {
			for b.Loop() {
				is, why := p.Authorities()[0].Matches(id)
				must.That(b, is, "%v", why)
			}
		})
	}
}

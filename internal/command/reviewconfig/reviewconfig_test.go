package reviewconfig_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/forges"
	"github.com/polex-dev/polex/internal/command/reviewconfig"
	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/promotion"
	"github.com/polex-dev/polex/internal/review"
	"github.com/polex-dev/polex/internal/review/record"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/gitrepo"
	"github.com/polex-dev/polex/test/mergedpull"
	"github.com/polex-dev/polex/test/must"
)

// workflow returns the environment of GitHub Actions, with a token.
func workflow(t testing.TB) map[string]string {
	t.Helper()
	event := filepath.Join(t.TempDir(), "event.json")
	must.Do(t, os.WriteFile(event, []byte("{}"), 0o600))
	return map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_REPOSITORY": mergedpull.Repository, "GITHUB_REF": "refs/heads/main",
		"GITHUB_EVENT_PATH": event, "GITHUB_TOKEN": mergedpull.Token}
}

func options(t testing.TB, promote, renewals string, environment map[string]string) (reviewconfig.Options, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	text := "apiVersion: polex.dev/v1alpha1\nkind: Config\npromote: {" + promote + "}\n"
	if renewals != "" {
		text += "trust: {renewals: {" + renewals + "}}\n"
	}
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	cfg, err := cli.LoadConfig(path)
	return reviewconfig.Options{Config: cfg, Workflow: forges.Workflow(func(name string) string { return environment[name] })}, err
}

// Configuration and environment decide together. A requirement that the environment cannot prove is never ignored.
func TestSettings(t *testing.T) {
	lacks := func(names ...string) func(map[string]string) {
		return func(environment map[string]string) {
			for _, name := range names {
				delete(environment, name)
			}
		}
	}
	for name, tc := range map[string]struct {
		promote, trust string // trust is the section renewals there
		change         func(map[string]string)
		want           string // "records", "none", "usage: …" or "error: …"
	}{
		"in a workflow":                       {want: "records"},
		"in a workflow without a token":       {change: lacks("GITHUB_TOKEN"), want: "records"},
		"in a workflow without an event":      {change: lacks("GITHUB_TOKEN", "GITHUB_EVENT_PATH"), want: "none"},
		"by hand":                             {change: lacks("GITHUB_ACTIONS"), want: "none"},
		"by hand, from the API":               {promote: "record: api", change: lacks("GITHUB_ACTIONS"), want: "records"},
		"from the API without a token":        {promote: "record: api", change: lacks("GITHUB_TOKEN"), want: "error: GITHUB_TOKEN is not set"},
		"from the API without a repository":   {promote: "record: api", change: lacks("GITHUB_REPOSITORY"), want: "error: GITHUB_REPOSITORY is not set"},
		"from an event that is not there":     {promote: "record: event", change: func(e map[string]string) { e["GITHUB_EVENT_PATH"] = "/nowhere" }, want: "error: no such file"},
		"from trailers":                       {promote: "record: trailers", want: "records"},
		"none":                                {promote: "record: none", want: "none"},
		"approvals":                           {promote: "requireApprovals: 1", want: "records"},
		"approvals, by hand":                  {promote: "requireApprovals: 1", change: lacks("GITHUB_ACTIONS"), want: "error: no source of approvals is available here"},
		"approvals without a token":           {promote: "requireApprovals: 1", change: lacks("GITHUB_TOKEN"), want: "error: no source of approvals is available here"},
		"approvals of no record":              {promote: "record: none, requireApprovals: 1", want: "usage: is none, and approvals are required"},
		"approvals of an event":               {promote: "record: event, requireApprovals: 1", want: "usage: an event has none"},
		"approvals of trailers":               {promote: "record: trailers, requireApprovals: 1", want: "usage: any author can write names into a commit message"},
		"approvals of trailers, counted":      {promote: "record: trailers, requireApprovals: 1, approvalsFrom: trailers", want: "records"},
		"trailers counted beside the API":     {promote: "approvalsFrom: trailers", want: "usage: requires promote.record: trailers"},
		"approvals from elsewhere":            {promote: "approvalsFrom: chat", want: `usage: promote.approvalsFrom is "chat"`},
		"records from elsewhere":              {promote: "record: chat", want: `usage: promote.record is "chat"`},
		"fewer than none":                     {promote: "requireApprovals: -1", want: "usage: promote.requireApprovals is -1, expected at least 0"},
		"of a renewal, by hand":               {trust: "requireApprovals: 1", change: lacks("GITHUB_ACTIONS"), want: "error: no source of approvals is available here"},
		"of a renewal":                        {trust: "requireApprovals: 1", want: "records"},
		"of a renewal, fewer than of a first": {promote: "requireApprovals: 2", trust: "requireApprovals: 1", want: "usage: must not require fewer"},
		"of a renewal, of no record":          {promote: "record: none", trust: "requireApprovals: 1", want: "usage: is none, and approvals are required"},
		"of a renewal, of an event":           {promote: "record: event", trust: "requireApprovals: 1", want: "usage: an event has none"},
		"a new approver, and nobody verifies": {trust: "requireNewApprover: true", want: "usage: there is no trusted signer"},
		"an unknown setting":                  {promote: "requireApproval: 1", want: "usage: unknown field"},
		"an open line":                        {change: func(e map[string]string) { e["GITHUB_API_URL"] = "http://github.example" }, want: "usage: not an https address"},
		"no branch":                           {change: lacks("GITHUB_REF"), want: "error: the target branch is not known"},
		"a tag":                               {change: func(e map[string]string) { e["GITHUB_REF"] = "refs/tags/v1" }, want: "error: the target branch is not known"},
		"approvals where the API is no API's": {promote: "requireApprovals: 1", change: func(e map[string]string) { e["GITHUB_REPOSITORY"] = "acme" }, want: "usage: is not a repository"},
	} {
		t.Run(name, func(t *testing.T) {
			environment := workflow(t)
			if tc.change != nil {
				tc.change(environment)
			}
			asked, err := options(t, tc.promote, tc.trust, environment)
			var recorder *record.Recorder
			if err == nil {
				recorder, err = reviewconfig.New(asked)
			}
			got := "records"
			var usage *cli.UsageError
			switch {
			case errors.As(err, &usage):
				got = "usage: " + err.Error()
			case err != nil:
				got = "error: " + err.Error()
			case recorder == nil:
				got = "none"
			}
			kind, part, _ := strings.Cut(tc.want, ": ")
			expect.That(t, strings.HasPrefix(got, kind) && strings.Contains(got, part),
				"it is %q, and should be %q", got, tc.want)
		})
	}
}

// The page on approvals names every reason, and no other.
func TestDocs(t *testing.T) {
	raw := must.Get(os.ReadFile("../../../docs/explanation/approvals.md"))(t)
	page := string(raw)
	documented := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-zA-Z.-]+)` \\| ([^|]+) \\|").FindAllStringSubmatch(page, -1) {
		documented[row[1]] = row[2]
	}
	for _, r := range review.Reasons() {
		expect.That(t, documented[r.Name] == r.Doc,
			"%s is documented as %q, and means %q", r.Name, documented[r.Name], r.Doc)
		delete(documented, r.Name)
	}
	expect.That(t, len(documented) == 0, "there is no %v", documented)
}

// Each configuration on the page is valid in a workflow.
func TestDocsConfigurations(t *testing.T) {
	raw := must.Get(os.ReadFile("../../../docs/explanation/approvals.md"))(t)
	met := 0
	for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(raw), -1) {
		if !strings.Contains(block[1], "promote:") {
			continue
		}
		met++
		text := block[1]
		if !strings.Contains(text, "kind: Config") {
			text = "apiVersion: polex.dev/v1alpha1\nkind: Config\n" + text
		}
		path := filepath.Join(t.TempDir(), ".polex.yaml")
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		o := must.Get(options(t, "", "", workflow(t)))(t)
		o.Verify = func(*exception.Document) (*exception.Document, error) {
			return nil, errors.New("nothing is verified here")
		}
		o.Config = must.Get(cli.LoadConfig(path))(t)
		if recorder, err := reviewconfig.New(o); err != nil || recorder == nil {
			t.Errorf("%s\n%v", block[1], err)
		}
	}
	expect.That(t, met == 3, "the page shows %d configurations", met)
}

const request = `apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: mongo, namespace: platform}
spec: {}
`

// clone is a repository with the merge of a request as its last commit.
type clone struct {
	*gitrepo.Repository
	head, base string // commits
}

func newClone(t *testing.T, content string) *clone {
	t.Helper()
	dir := t.TempDir()
	c := &clone{Repository: &gitrepo.Repository{TB: t, Dir: dir, Home: dir}}
	c.Init("Begin", map[string]string{"README.md": "exceptions\n"})
	c.base = c.Head()
	c.Line("checkout", "-q", "-b", "mongo")
	c.Write("unsigned/mongo.yaml", content)
	c.Commit("Ask for mongo")
	c.Line("checkout", "-q", "main")
	c.Line("merge", "-q", "--no-ff", "-m", "Merge pull request #12\n\nApproved-by: Bob <bob@example.com>", "mongo")
	c.head = c.Head()
	return c
}

func (c *clone) recorder(promote string) *record.Recorder {
	c.TB.Helper()
	repository := must.Get(git.Open(context.Background(), c.Dir))(c.TB)
	c.TB.Cleanup(func() { _ = repository.Close() })
	environment := workflow(c.TB)
	server := mergedpull.Serve(c.Git, "bob")
	c.TB.Cleanup(server.Close)
	environment["GITHUB_API_URL"] = server.URL
	o := must.Get(options(c.TB, promote, "", environment))(c.TB)
	o.Repository = repository
	return must.Get(reviewconfig.New(o))(c.TB)
}

func (c *clone) file(origin string) *promotion.Move {
	c.TB.Helper()
	raw := must.Get(os.ReadFile(filepath.Join(c.Dir, "unsigned/mongo.yaml")))(c.TB)
	doc := must.Get(exception.Parse(raw, "unsigned/mongo.yaml"))(c.TB)
	m := &promotion.Move{From: "unsigned/mongo.yaml", Blob: git.HashOf(git.KindBlob, raw), Documents: []*exception.Document{doc}, Prepared: []*exception.Document{doc}}
	if origin != "" {
		m.Origin = &git.Origin{Commit: git.NewHash(origin)}
	}
	return m
}

// The record describes the merge in a real repository.
func TestRecord(t *testing.T) {
	for name, tc := range map[string]struct{ promote, approved, from string }{
		"from the API":  {"requireApprovals: 1", "bob", "api"},
		"from trailers": {"record: trailers", "Bob <bob@example.com>", "trailers"},
		"from an event": {"record: event", "", "event"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClone(t, request)
			docs := must.Get(c.recorder(tc.promote).Record(t.Context(), []*promotion.Move{c.file(c.head)}))(t)
			must.That(t, len(docs) == 1, "there are %d documents", len(docs))
			for key, want := range map[string]string{exception.AnnotationApprovedBy: tc.approved, exception.AnnotationMergeCommit: c.head, exception.AnnotationRecordedFrom: tc.from} {
				expect.Is(t, key, want, docs[0].Annotation(key))
			}
		})
	}
}

// Every file gets a refusal for each missing approval.
func TestRefused(t *testing.T) {
	c := newClone(t, strings.Replace(request, "{name", "{annotations: {polex.dev/approved-by: bob}, name", 1))
	files := []*promotion.Move{c.file(c.head), c.file(c.base)}
	_, err := c.recorder("requireApprovals: 2").Record(t.Context(), files[:1])
	var refusals exception.Refusals
	if !errors.As(err, &refusals) || len(refusals) != 2 || refusals[0].Reason != review.ReasonClaimsReview || refusals[1].Reason != review.ReasonNotApproved {
		t.Errorf("it is %v", err)
	}
	var unknown *review.UnknownError
	if _, err := c.recorder("requireApprovals: 1").Record(t.Context(), files); !errors.As(err, &unknown) { // the second commit is unknown
		t.Errorf("it is %v", err)
	}
}

// A shallow clone is an error and not a decision.
func TestShallow(t *testing.T) {
	c := newClone(t, request)
	_, err := c.recorder("").Record(t.Context(), []*promotion.Move{c.file("")}) // the origin of the file is not in the clone
	var unknown *review.UnknownError
	expect.That(t, errors.As(err, &unknown) && strings.Contains(unknown.Advice, "fetch-depth: 0"), "it is %v", err)
}

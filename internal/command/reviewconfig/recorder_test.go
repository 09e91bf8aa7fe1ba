package reviewconfig_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/command/reviewconfig"
	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/promotion"
	"github.com/polex-dev/polex/internal/review"
	"github.com/polex-dev/polex/internal/review/record"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/gitrepo"
	"github.com/polex-dev/polex/test/must"
)

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

// gitHub answers requests about pull request 12. bob approved the commit in the clone.
func (c *clone) gitHub() *httptest.Server {
	type object = map[string]any
	type list = []any
	approved := c.Line("rev-parse", "mongo")
	alice, bob := object{"id": 1, "login": "alice", "type": "User"}, object{"id": 2, "login": "bob", "type": "User"}
	root, folder, blob := c.Line("rev-parse", "mongo^{tree}"), c.Line("rev-parse", "mongo:unsigned"), c.Line("rev-parse", "mongo:unsigned/mongo.yaml")
	answers := map[string]any{
		"/commits/" + c.head + "/pulls": list{object{"number": 12, "html_url": "https://github.com/acme/exceptions/pull/12", "user": alice, "merged_at": "2026-11-20T10:11:12Z",
			"merge_commit_sha": c.head, "head": object{"sha": approved}, "base": object{"ref": "main", "repo": object{"full_name": "acme/exceptions"}}}},
		"/pulls/12/reviews":             list{object{"id": 1, "user": bob, "state": "APPROVED", "commit_id": approved, "submitted_at": "2026-11-20T09:00:00Z"}},
		"/commits/" + approved:          object{"sha": approved, "author": alice, "commit": object{"tree": object{"sha": root}}},
		"/collaborators/bob/permission": object{"permission": "write", "user": bob},
		"/git/trees/" + root:            object{"tree": list{object{"path": "unsigned", "type": "tree", "mode": "040000", "sha": folder}}},
		"/git/trees/" + folder:          object{"tree": list{object{"path": "mongo.yaml", "type": "blob", "mode": "100644", "sha": blob}}},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, there := answers[strings.TrimPrefix(r.URL.Path, "/repos/acme/exceptions")]
		if !there {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	c.TB.Cleanup(server.Close)
	return server
}

func (c *clone) recorder(promote string) *record.Recorder {
	c.TB.Helper()
	repository := must.Get(git.Open(context.Background(), c.Dir))(c.TB)
	c.TB.Cleanup(func() { _ = repository.Close() })
	environment := workflow(c.TB)
	environment["GITHUB_API_URL"] = c.gitHub().URL
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

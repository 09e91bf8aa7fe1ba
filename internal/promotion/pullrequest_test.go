package promotion_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/forge"
	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/internal/promotion"
	"github.com/polex-dev/polex/internal/promotion/deliver"
	"github.com/polex-dev/polex/pkg/exception"
)

var proposed = commit.Remote{Name: "origin", Branch: "proposed"}

// TestOnBranch: a branch holds a promotion if its commit is the commit of that promotion. Anybody
// with write access to branches could have pushed another one.
func TestOnBranch(t *testing.T) {
	s := newSigstore(t)
	request := strings.Replace(exceptionText("a"), "  namespace: team-a\n", "  namespace: team-a\n  annotations: {polex.dev/expires-in: 7d}\n", 1)
	sealed := func(text string) string {
		doc, err := exception.Parse([]byte(text), "a.yaml")
		if err != nil {
			t.Fatal(err)
		}
		docs, err := s.signer.Seal(t.Context(), []*exception.Document{doc}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return string(docs[0].Source())
	}
	wider := sealed(strings.Replace(request, "[Pod]", "[Pod, Deployment]", 1))
	const another = "it is not the commit that this promotion makes"
	for _, tc := range []struct {
		name    string
		edit    func(r *repository)             // content of the branch
		commit  func(c *planted, r *repository) // the commit with that content
		by      func(*commit.Author)
		server  bool // a server makes the commits
		nobody  bool // no trusted signer is configured
		nothing bool // nothing is committed
		want    string
	}{
		{name: "as it was pushed", nothing: true},
		{name: "as it was pushed, at another time"},
		{name: "by another author", commit: func(c *planted, _ *repository) { c.author = "Eve" }, want: another},
		{name: "by another committer", commit: func(c *planted, _ *repository) { c.committer = "Eve" }, want: another},
		{name: "with another message", commit: func(c *planted, _ *repository) { c.message += "Approved-by: Eve <eve@example.com>\n" }, want: another},
		{name: "on another commit", commit: func(c *planted, r *repository) { c.parents = []string{r.revision("HEAD~2")} }, want: another},
		{name: "with another parent", commit: func(c *planted, r *repository) { c.parents = append(c.parents, r.revision("HEAD~2")) }, want: another},
		{name: "on a commit that nobody reviewed", commit: func(c *planted, r *repository) {
			between := planted{tree: r.revision("HEAD~2^{tree}"), author: "Eve", committer: "Eve", message: "x\n", parents: c.parents}
			c.parents = []string{r.plant(between)}
		}, want: another},
		{name: "with a file more", edit: func(r *repository) { r.write("signed/Kustomization", "x\n") }, want: another},
		{name: "with a file less", edit: func(r *repository) { r.git("rm", "--quiet", "README.md") }, want: another},
		{name: "unsigned", edit: func(r *repository) { r.write("signed/a.yaml", request) }, want: "it is not signed"},
		{name: "wider, and signed once", edit: func(r *repository) { r.write("signed/a.yaml", wider) }, want: "it differs from unsigned/a.yaml"},
		{name: "executable", edit: func(r *repository) { r.must(os.Chmod(r.path("signed/a.yaml"), 0o755)) }, want: "it is not a regular file"},
		{name: "not there", edit: func(r *repository) { r.git("rm", "--quiet", "signed/a.yaml") }, want: "it does not exist"},
		{name: "the commit is to be signed", nothing: true, by: func(a *commit.Author) { a.Sign = true }, want: "cannot make a signed commit again"},
		{name: "by a server", server: true, commit: func(c *planted, _ *repository) { c.author, c.committer = "bot", "GitHub" }},
		{name: "by a server, with another message", server: true, commit: func(c *planted, _ *repository) { c.message += "Approved-by: Eve <eve@example.com>\n" }, want: another},
		{name: "by a server, on another commit", server: true, commit: func(c *planted, r *repository) { c.parents = []string{r.revision("HEAD~2")} }, want: another},
		{name: "by a server, with a file more", server: true, edit: func(r *repository) { r.write("signed/Kustomization", "x\n") }, want: another},
		{name: "by a server, wider", server: true, edit: func(r *repository) { r.write("signed/a.yaml", wider) }, want: "it differs from unsigned/a.yaml"},
		{name: "nobody is trusted", nothing: true, nobody: true, want: "no trusted signer"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRepository(t, map[string]string{"signed/.gitkeep": ""})
			r.write("unsigned/a.yaml", request)
			r.commit("Ask for it")
			other := r.remote()
			q := r.open()
			docs, err := s.signer.Seal(t.Context(), q.Documents(), time.Now())
			r.must(err)
			push := toMain
			push.As = proposed.Branch
			if _, there, err := q.OnBranch(t.Context(), deliver.To{Push: push, By: *author()}, s.verifier); there || err != nil {
				t.Fatalf("OnBranch before it was pushed: %v, %v", there, err)
			}
			promoted, err := q.Signed(docs)
			r.must(err)
			_, err = promoted.Make(context.Background(), deliver.To{Way: deliver.Push, By: *author(), Push: push})
			r.must(err)
			if !tc.nothing {
				other.git("fetch", "--quiet")
				other.git("checkout", "--quiet", "-b", "proposed", "origin/proposed")
				if tc.edit != nil {
					tc.edit(other)
				}
				other.git("add", "--all")
				c := planted{tree: strings.TrimSpace(other.git("write-tree")), author: "Polex Bot", committer: "Polex Bot",
					message: other.git("log", "-1", "--format=%B"), parents: []string{other.revision("HEAD^")}}
				c.message = strings.TrimSuffix(c.message, "\n")
				if tc.commit != nil {
					tc.commit(&c, other)
				}
				other.git("push", "--quiet", "--force", "origin", other.plant(c)+":refs/heads/proposed")
			}
			by := *author()
			by.When = time.Now()
			if tc.by != nil {
				tc.by(&by)
			}
			verifier := s.verifier
			if tc.nobody {
				verifier = nil
			}
			if tc.server {
				push.By = struct{ forge.Commits }{}
			}
			_, there, err := q.OnBranch(t.Context(), deliver.To{Push: push, By: by}, verifier)
			switch {
			case tc.want == "" && (err != nil || !there):
				t.Errorf("OnBranch: %v, %v", there, err)
			case tc.want != "" && (there || !errors.Is(err, promotion.ErrBranchTaken) || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("OnBranch: %v, %v; want %q", there, err, tc.want)
			}
		})
	}
}

// planted is a commit of an attacker who chooses all of its fields.
type planted struct {
	tree, author, committer, message string
	parents                          []string
}

// plant writes a commit, and returns its hash. Its email address is the one of Polex Bot.
func (r *repository) plant(c planted) string {
	r.tb.Helper()
	args := []string{"commit-tree", c.tree}
	for _, parent := range c.parents {
		args = append(args, "-p", parent)
	}
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = r.Dir, strings.NewReader(c.message)
	const at = "1767225600 +0000"
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME="+c.author, "GIT_AUTHOR_EMAIL=bot@example.com", "GIT_AUTHOR_DATE="+at,
		"GIT_COMMITTER_NAME="+c.committer, "GIT_COMMITTER_EMAIL=bot@example.com", "GIT_COMMITTER_DATE="+at)
	out, err := cmd.Output()
	r.must(err)
	return strings.TrimSpace(string(out))
}

func (r *repository) revision(name string) string {
	r.tb.Helper()
	return strings.TrimSpace(r.git("rev-parse", name))
}

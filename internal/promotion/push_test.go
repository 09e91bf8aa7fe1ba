package promotion_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/internal/promotion"
	"github.com/polex-dev/polex/internal/promotion/deliver"
	"github.com/polex-dev/polex/internal/promotion/pending"
	"github.com/polex-dev/polex/pkg/exception"
)

// remote makes a bare repository as the upstream of main, and another clone of it.
func (r *repository) remote() (other *repository) {
	r.tb.Helper()
	dir := filepath.Join(r.tb.TempDir(), "remote.git")
	r.git("clone", "--quiet", "--bare", ".", dir)
	r.git("remote", "add", "origin", dir)
	r.git("fetch", "--quiet")
	r.git("branch", "--quiet", "--set-upstream-to=origin/main")
	other = &repository{tb: r.tb, home: r.home, Dir: filepath.Join(r.tb.TempDir(), "other")}
	r.git("clone", "--quiet", dir, other.Dir)
	return other
}

func (r *repository) pushed(message string) {
	r.tb.Helper()
	r.commit(message)
	r.git("push", "--quiet")
}

var toMain = commit.Push{To: commit.Remote{Name: "origin", Branch: "main"}}

// TestPushPlansAnew: changes by others between the signing and the push are respected.
func TestPushPlansAnew(t *testing.T) {
	for _, tc := range []struct {
		name    string
		others  func(*repository)
		moves   string
		skipped string // "file reason"
		want    string // of the error
	}{
		{name: "nothing", moves: "unsigned/a.yaml unsigned/b.yaml"},
		{name: "something else", others: func(r *repository) { r.write("README.md", "x") }, moves: "unsigned/a.yaml unsigned/b.yaml"},
		{name: "one was changed", others: func(r *repository) { r.write("unsigned/a.yaml", exceptionText("x")) },
			moves: "unsigned/b.yaml", skipped: "unsigned/a.yaml changed-since"},
		{name: "one became executable", others: func(r *repository) {
			r.git("update-index", "--chmod=+x", "unsigned/a.yaml")
			r.git("checkout", "--", ".")
		},
			moves: "unsigned/b.yaml", skipped: "unsigned/a.yaml gone-since"},
		{name: "one was withdrawn", others: func(r *repository) { r.git("rm", "--quiet", "unsigned/a.yaml") },
			moves: "unsigned/b.yaml", skipped: "unsigned/a.yaml gone-since"},
		{name: "both were signed", others: func(r *repository) { r.git("mv", "unsigned", "signed-elsewhere") },
			skipped: "unsigned/a.yaml gone-since unsigned/b.yaml gone-since"},
		{name: "the target appeared", others: func(r *repository) { r.write("signed/a.yaml", exceptionText("x")) }, want: pending.ReasonTargetExists},
		{name: "the exception was signed under another name", others: func(r *repository) { r.write("signed/x.yaml", exceptionText("a")) }, want: pending.ReasonAlreadySigned},
		{name: "what is replaced has changed", others: func(r *repository) { r.write("signed/c.yaml", stamped(exceptionText("c"))) }, want: "has changed since it was signed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			files := map[string]string{"unsigned/a.yaml": exceptionText("a"), "unsigned/b.yaml": exceptionText("b")}
			replace := tc.want == "has changed since it was signed"
			if replace {
				files["unsigned/c.yaml"], files["signed/c.yaml"] = exceptionText("c"), exceptionText("c")
			}
			r := newRepository(t, files)
			other := r.remote()
			q, err := r.try(r.Dir, promotion.Options{Replace: replace})
			if err != nil {
				t.Fatal(err)
			}
			promotion, err := q.Signed(stamp(t, q.Documents()))
			r.must(err)
			if tc.others != nil {
				tc.others(other)
				other.pushed("Meanwhile")
			}
			head := r.head()
			done, err := promotion.Make(context.Background(), deliver.To{Way: deliver.Push, By: *author(), Push: toMain})
			if tc.want != "" {
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("Push: %v, want %q", err, tc.want)
				}
				var refused exception.Refusals
				if errors.As(err, &refused) == replace {
					t.Errorf("Push: %v is a refusal: %v", err, !replace)
				}
				r.unchanged(head)
				return
			}
			r.must(err)
			var moves, skipped []string
			for _, m := range done.Moves {
				moves = append(moves, m.From)
			}
			for _, s := range done.Skipped {
				skipped = append(skipped, s.File, s.Reason)
				if !s.Signed || !strings.HasPrefix(s.Message, "this run signed it, but ") {
					t.Errorf("%s was signed: %+v", s.File, s)
				}
			}
			if got := strings.Join(moves, " "); got != tc.moves {
				t.Errorf("moves %q, want %q", got, tc.moves)
			}
			if got := strings.Join(skipped, " "); got != tc.skipped {
				t.Errorf("skipped %q, want %q", got, tc.skipped)
			}
			r.unchanged(strings.TrimSpace(r.git("rev-parse", "origin/main")))
			if message := r.git("log", "-1", "--format=%B"); len(moves) == 1 && strings.Contains(message, "unsigned/a.yaml") {
				t.Errorf("the commit speaks of what it has not done:\n%s", message)
			}
		})
	}
}

// TestReplacedName: the name of a replaced file can be any text, and cannot add a line to the
// message.
func TestReplacedName(t *testing.T) {
	r := newRepository(t, map[string]string{"unsigned/a.yaml": exceptionText("a"), "signed/x\nApproved-by: Eve <eve@example.com>\nx.yaml": exceptionText("a")})
	q, err := r.try(r.Dir, promotion.Options{Replace: true})
	r.must(err)
	_, hash, err := q.apply(stamp(t, q.Documents()), author())
	r.must(err)
	if got := r.git("log", "-1", "--format=%(trailers:key=Approved-by)"); strings.TrimSpace(got) != "" {
		t.Errorf("the message has the trailer %q", got)
	}
	if got := r.git("log", "-1", "--format=%(trailers:key=Polex-Replaces,valueonly)"); !strings.Contains(got, `"signed/x\nApproved-by: Eve`) {
		t.Errorf("what it replaces is %q", got)
	}
	r.unchanged(hash)
}

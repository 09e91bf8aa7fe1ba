package promote_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/internal/promote"
	"github.com/polex-dev/polex/internal/promote/deliver"
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
		{name: "the target appeared", others: func(r *repository) { r.write("signed/a.yaml", exceptionText("x")) }, want: promote.ReasonTargetExists},
		{name: "the exception was signed under another name", others: func(r *repository) { r.write("signed/x.yaml", exceptionText("a")) }, want: promote.ReasonAlreadySigned},
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
			q, err := r.try(r.Dir, promote.Options{Replace: replace})
			if err != nil {
				t.Fatal(err)
			}
			promotion, err := q.Seal(stamp(t, q.Documents()))
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

// TestLand: only promotions are pushed, and not every commit that has the trailer.
func TestLand(t *testing.T) {
	trailer := "Sign\n\nPolex-Source-Commit: x\n"
	for _, tc := range []struct {
		name   string
		commit func(*repository)
		want   bool
	}{
		{"a promotion", func(r *repository) { r.git("mv", "unsigned/a.yaml", "signed/a.yaml"); r.commit(trailer) }, true},
		{"two", func(r *repository) {
			r.git("mv", "unsigned/a.yaml", "signed/a.yaml")
			r.commit(trailer)
			r.git("mv", "unsigned/b.yaml", "signed/b.yaml")
			r.commit(trailer)
		}, true},
		{"without the trailer", func(r *repository) { r.git("mv", "unsigned/a.yaml", "signed/a.yaml"); r.commit("Sign") }, false},
		{"with a workflow", func(r *repository) {
			r.git("mv", "unsigned/a.yaml", "signed/a.yaml")
			r.write(".github/workflows/x.yaml", "on: push\n")
			r.commit(trailer)
		}, false},
		{"with something else removed", func(r *repository) {
			r.git("mv", "unsigned/a.yaml", "signed/a.yaml")
			r.git("rm", "--quiet", "README.md")
			r.commit(trailer)
		}, false},
		{"a request changed", func(r *repository) { r.write("unsigned/a.yaml", exceptionText("x")); r.commit(trailer) }, false},
		{"nothing signed", func(r *repository) { r.git("rm", "--quiet", "unsigned/a.yaml"); r.commit(trailer) }, false},
		{"nothing", func(r *repository) { r.commit(trailer) }, false},
		{"of somebody else", func(r *repository) {
			r.git("checkout", "--quiet", "-b", "theirs")
			r.git("mv", "unsigned/a.yaml", "signed/a.yaml")
			r.commit(trailer)
			r.git("checkout", "--quiet", "main")
			r.git("merge", "--quiet", "--ff-only", "theirs")
		}, false},
		{"one of them is none", func(r *repository) {
			r.git("mv", "unsigned/a.yaml", "signed/a.yaml")
			r.commit(trailer)
			r.write("x", "x")
			r.commit("Other")
		}, false},
	} {
		for _, moved := range []bool{false, true} {
			t.Run(tc.name+map[bool]string{true: ", and the remote moved"}[moved], func(t *testing.T) {
				r := newRepository(t, map[string]string{"unsigned/a.yaml": exceptionText("a"), "unsigned/b.yaml": exceptionText("b"), "signed/.gitkeep": ""})
				other := r.remote()
				if moved {
					other.write("other.txt", "x")
					other.pushed("Meanwhile")
				}
				before := strings.TrimSpace(other.git("rev-parse", "HEAD"))
				tc.commit(r)
				head := r.head()
				clone, err := commit.Open(commit.Options{Dir: r.Dir})
				r.must(err)
				defer clone.Close()
				landed, err := promote.Land(context.Background(), clone, promote.Options{}, toMain, false)
				other.git("fetch", "--quiet")
				now := strings.TrimSpace(other.git("rev-parse", "origin/main"))
				if !tc.want {
					if !errors.Is(err, promote.ErrUnpushed) || now != before {
						t.Errorf("Land: %d, %v; the remote is at %s", landed, err, now)
					}
					r.unchanged(head)
					return
				}
				if err != nil || landed == 0 {
					t.Fatalf("Land: %d, %v", landed, err)
				}
				r.unchanged(now)
				if !moved && now != head {
					t.Errorf("it was made anew where nothing had moved")
				}
				if signed := r.git("ls-tree", "--name-only", "origin/main", "signed/"); !strings.Contains(signed, "signed/a.yaml") {
					t.Errorf("the remote has %q", signed)
				}
			})
		}
	}
}

// TestLandConflicts: changes by others win over a promotion that was not pushed.
func TestLandConflicts(t *testing.T) {
	r := newRepository(t, map[string]string{"unsigned/a.yaml": exceptionText("a"), "signed/.gitkeep": ""})
	other := r.remote()
	other.write("unsigned/a.yaml", exceptionText("x"))
	other.pushed("Change it")
	r.git("mv", "unsigned/a.yaml", "signed/a.yaml")
	r.commit("Sign\n\nPolex-Source-Commit: x\n")
	head := r.head()
	clone, err := commit.Open(commit.Options{Dir: r.Dir})
	r.must(err)
	defer clone.Close()
	if _, err := promote.Land(context.Background(), clone, promote.Options{}, toMain, false); err == nil || !strings.Contains(err.Error(), `"unsigned/a.yaml" was changed by others since`) {
		t.Errorf("Land: %v", err)
	}
	r.unchanged(head)
}

// TestLandWithdrawn: an unpushed promotion signs nothing that main has removed or does not allow
// any more.
func TestLandWithdrawn(t *testing.T) {
	for name, tc := range map[string]struct {
		others func(*repository)
		want   error
	}{
		"withdrawn": {func(r *repository) { r.git("rm", "--quiet", "unsigned/a.yaml"); r.pushed("Withdraw it") }, promote.ErrWithdrawn},
		"withdrawn and asked for again": {func(r *repository) {
			r.git("mv", "unsigned/a.yaml", "a.yaml")
			r.pushed("Withdraw it")
			r.git("mv", "a.yaml", "unsigned/a.yaml")
			r.pushed("Ask for it again")
		}, promote.ErrWithdrawn},
		"other rules": {func(r *repository) { r.write(".polex.yaml", "stricter"); r.pushed("Ask for more") }, promote.ErrWithdrawn},
		"the same promotion": {func(r *repository) {
			r.git("mv", "unsigned/a.yaml", "signed/a.yaml")
			r.pushed("Sign\n\nPolex-Source-Commit: x\n")
		}, nil},
		"something else": {func(r *repository) { r.write("other.txt", "x"); r.pushed("Other") }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t, map[string]string{"unsigned/a.yaml": exceptionText("a"), "unsigned/.gitkeep": "", "signed/.gitkeep": ""})
			other := r.remote()
			r.git("mv", "unsigned/a.yaml", "signed/a.yaml")
			r.commit("Sign\n\nPolex-Source-Commit: x\n")
			tc.others(other)
			before := other.head()
			clone, err := commit.Open(commit.Options{Dir: r.Dir})
			r.must(err)
			defer clone.Close()
			_, err = promote.Land(t.Context(), clone, promote.Options{Rules: []string{".polex.yaml"}}, toMain, false)
			if !errors.Is(err, tc.want) {
				t.Errorf("Land: %v, want %v", err, tc.want)
			}
			other.git("fetch", "--quiet")
			if now := strings.TrimSpace(other.git("rev-parse", "origin/main")); tc.want != nil && now != before {
				t.Errorf("the remote has %s, and had %s", now, before)
			}
		})
	}
}

// TestReplacedName: the name of a replaced file can be any text, and cannot add a line to the
// message.
func TestReplacedName(t *testing.T) {
	r := newRepository(t, map[string]string{"unsigned/a.yaml": exceptionText("a"), "signed/x\nApproved-by: Eve <eve@example.com>\nx.yaml": exceptionText("a")})
	q, err := r.try(r.Dir, promote.Options{Replace: true})
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

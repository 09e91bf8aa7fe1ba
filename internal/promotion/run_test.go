package promotion_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/internal/promotion"
	"github.com/polex-dev/polex/internal/promotion/deliver"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/pkg/sign"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/gitrepo"
	"github.com/polex-dev/polex/test/must"
)

// repository is a real Git repository.
type repository struct {
	*gitrepo.Repository
	clone *commit.Clone // the open clone
}

func repositoryAt(tb testing.TB, home, dir string) *repository {
	return &repository{Repository: &gitrepo.Repository{TB: tb, Home: home, Dir: dir}}
}

var committedAt = time.Date(2026, 3, 1, 10, 30, 15, 0, time.UTC)

// newRepository makes a repository with one commit that has the files. A name that ends in a slash
// is a folder that is only on disk.
func newRepository(tb testing.TB, files map[string]string) *repository {
	tb.Helper()
	r := repositoryAt(tb, tb.TempDir(), tb.TempDir())
	r.Write("README.md", "# Exceptions\n")
	r.Init("Ask for exceptions", files)
	return r
}

// commitAt commits the staged changes at a time.
func (r *repository) commitAt(message string, at time.Time) {
	r.TB.Helper()
	cmd := exec.Command("git", "-C", r.Dir, "-c", "user.name=Ann", "-c", "user.email=ann@example.com", "commit", "--quiet", "--message="+message)
	cmd.Env = append(os.Environ(), "GIT_COMMITTER_DATE="+at.Format(time.RFC3339))
	must.Do(r.TB, cmd.Run())
}

// unchanged checks that an attempt left nothing in the work tree, the index or the history.
func (r *repository) unchanged(head string) {
	r.TB.Helper()
	expect.Is(r.TB, "HEAD", head, r.Head())
	expect.Equal(r.TB, "git status", "", r.Git("status", "--porcelain", "--untracked-files=all"))
	r.Fsck()
}

// queue is a queue with its plan on HEAD.
type queue struct {
	*promotion.Plan
	Queue *promotion.Queue
}

// try opens the clone at a folder and makes the plan on HEAD.
func (r *repository) try(dir string, o promotion.Options) (*queue, error) {
	r.TB.Helper()
	if r.clone != nil {
		r.clone.Close()
	}
	clone, err := commit.Open(commit.Options{Dir: dir})
	r.clone = clone
	if err != nil {
		return nil, err
	}
	r.TB.Cleanup(func() { clone.Close() })
	q := &queue{}
	if q.Queue, err = promotion.Open(clone, o); err != nil {
		return nil, err
	}
	head, err := clone.Head()
	if err != nil {
		return nil, err
	}
	q.Plan, err = q.Queue.Plan(head.Commit)
	return q, err
}

// open makes the plan, which must succeed.
func (r *repository) open() *queue {
	r.TB.Helper()
	q, err := r.try(r.Dir, promotion.Options{})
	must.That(r.TB, err == nil, "open the queue: %v", err)
	return q
}

// apply makes the promotion with the signed documents, and commits it. It
// returns the moves and the commit.
func (q *queue) apply(sealed []*exception.Document, by *commit.Author) (moves []string, hash string, err error) {
	promotion, err := q.Signed(sealed)
	if err != nil {
		return nil, "", err
	}
	done, err := promotion.Make(context.Background(), deliver.To{Way: deliver.Commit, By: *by})
	if err != nil {
		return nil, "", err
	}
	for _, m := range done.Moves {
		moves = append(moves, m.From+" -> "+m.To)
	}
	if !done.Commit.IsZero() {
		hash = done.Commit.String()
	}
	return moves, hash, nil
}

func author() *commit.Author {
	return &commit.Author{Name: "Polex Bot", Email: "bot@example.com", When: committedAt}
}

func exceptionText(name string) string {
	return fmt.Sprintf(`# why %[1]s
apiVersion: kyverno.io/v2
kind: PolicyException
metadata:
  name: %[1]s
  namespace: team-a
spec:
  exceptions:
  - policyName: p
    ruleNames: [r]
  match:
    any:
    - resources:
        kinds: [Pod]
`, name)
}

// stamp replaces signing in tests: it adds an annotation.
func stamp(tb testing.TB, docs []*exception.Document) []*exception.Document {
	tb.Helper()
	stamped := make([]*exception.Document, len(docs))
	for i, doc := range docs {
		mark := exception.Addition{Path: exception.Path{"metadata", "annotations", "example.com/sealed"}, Value: "true"}
		stamped[i] = must.Get(doc.Add(mark))(tb)
	}
	return stamped
}

// stamped is the text of a file after stamp.
func stamped(text string) string {
	return strings.ReplaceAll(text, "metadata:\n", "metadata:\n  annotations:\n    example.com/sealed: \"true\"\n")
}

// job is a promotion with a commit that signs with a stamp. asked counts the review look-ups and the signatures.
func (r *repository) job() (job promotion.Job, asked *[2]int) {
	r.TB.Helper()
	if r.clone != nil {
		r.clone.Close()
	}
	r.clone = must.Get(commit.Open(commit.Options{Dir: r.Dir}))(r.TB)
	r.TB.Cleanup(func() { r.clone.Close() })
	asked = &[2]int{}
	return promotion.Job{
		Clone: r.clone, Now: committedAt, To: deliver.To{Way: deliver.Commit, By: *author()},
		Checks: promotion.Checks{Kinds: must.Get(trust.NewKinds(nil))(r.TB), Shape: r.checker(nil),
			Rules: sign.Rules{InsecureAllowUnbounded: true}},
		Recorder: recording(func(plan *promotion.Plan) ([]*exception.Document, error) {
			asked[0]++
			return plan.Prepared(), nil
		}),
		Signer: signing(func(_ context.Context, docs []*exception.Document) ([]*exception.Document, error) {
			asked[1]++
			return stamp(r.TB, docs), nil
		}),
	}, asked
}

// pushing is a job that pushes to main.
func (r *repository) pushing() (job promotion.Job, asked *[2]int) {
	r.TB.Helper()
	job, asked = r.job()
	job.To.Way, job.To.Push = deliver.Push, toMain
	return job, asked
}

// checker permits exceptions without an expiry.
func (r *repository) checker(checks map[string]shape.Level) *shape.Checker {
	r.TB.Helper()
	config := shape.Config{}
	config.Rules.Unbounded, config.Checks = true, checks
	return must.Get(shape.New(config))(r.TB)
}

// noOverlaps makes an overlap of exceptions an error.
func (r *repository) noOverlaps(j *promotion.Job) {
	r.TB.Helper()
	j.Checks.Shape = r.checker(map[string]shape.Level{shape.ReasonOverlaps: shape.LevelError})
	j.Checks.Overlaps = true
}

// recording is a [promotion.Recorder].
type recording func(*promotion.Plan) ([]*exception.Document, error)

func (f recording) Record(_ context.Context, plan *promotion.Plan, _ string) ([]*exception.Document, error) {
	return f(plan)
}

// signing is a [promotion.Signer] that is always ready.
type signing func(context.Context, []*exception.Document) ([]*exception.Document, error)

func (signing) Ready(_ context.Context, docs []*exception.Document) ([]*exception.Document, error) {
	return docs, nil
}

func (f signing) Sign(ctx context.Context, docs []*exception.Document) ([]*exception.Document, error) {
	return f(ctx, docs)
}

// podText exempts a single Pod, as the baseline preset requires.
func podText(name, pod string) string {
	return strings.Replace(exceptionText(name), "kinds: [Pod]", "kinds: [Pod]\n        namespaces: [data]\n        names: ["+pod+"]", 1)
}

// outcome returns a result as text.
func outcome(result *promotion.Result) []string {
	var said []string
	for _, m := range result.Moves {
		said = append(said, m.To)
	}
	for _, s := range result.Skipped {
		said = append(said, s.File+" "+s.Reason)
	}
	for _, f := range result.Findings {
		if f.Severity == shape.Error {
			said = append(said, f.Position.File+" "+f.Reason)
		}
	}
	return said
}

// TestRun: an error stops the run before anything is signed. Everything else is promoted.
func TestRun(t *testing.T) {
	sealed := strings.Replace(podText("a", "a"), "  namespace:", "  annotations: {cosign.sigstore.dev/message: x}\n  namespace:", 1)
	refuse := func(file string) exception.Refusals {
		return exception.Refusals{{Position: exception.Position{File: file}, Reason: "not-approved"}}
	}
	refusing := func(file string) recording {
		return func(*promotion.Plan) ([]*exception.Document, error) { return nil, refuse(file) }
	}
	plans := func(_ *repository, j *promotion.Job) { j.To.Way = deliver.Plan }
	keepsGoing := func(_ *repository, j *promotion.Job) { j.KeepGoing = true }
	const otherKind = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\n"
	both, onlyB, isSigned := []string{"signed/a.yaml", "signed/b.yaml"}, []string{"signed/b.yaml"}, " "+sign.ReasonSignaturePresent
	for _, tc := range []struct {
		name    string
		files   map[string]string
		change  func(*repository, *promotion.Job)
		want    []string
		asked   [2]int // records and signatures
		written bool
		leftOut int
	}{
		{name: "nothing is pending", files: map[string]string{"unsigned/README.md": "x\n"}},
		{name: "all", want: both, asked: [2]int{1, 1}, written: true},
		{name: "a plan stops", change: plans, want: both, asked: [2]int{1, 0}},
		{name: "a plan is refused as well", files: map[string]string{"unsigned/a.yaml": sealed}, change: plans,
			want: []string{"unsigned/a.yaml" + isSigned}},
		{name: "a malformed file refuses all", files: map[string]string{"unsigned/a.yaml": "a: ["}, want: []string{"unsigned/a.yaml malformed"}},
		{name: "a document that cannot be signed refuses all", files: map[string]string{"unsigned/a.yaml": sealed},
			want: []string{"unsigned/a.yaml" + isSigned}},
		{name: "another kind beside exceptions refuses all", files: map[string]string{"unsigned/a.yaml": otherKind + "---\n" + podText("beside", "beside")},
			want: []string{"unsigned/a.yaml " + promotion.ReasonKindNotAllowed}},
		{name: "a kind that is nearly the one of exceptions refuses all", files: map[string]string{
			"unsigned/a.yaml": "apiVersion: kyverno.io/v2\nkind: policyException\nmetadata: {name: a, namespace: b}\n"},
			want: []string{"unsigned/a.yaml " + promotion.ReasonKindNotAllowed}},
		{name: "a file of another kind stays", files: map[string]string{"unsigned/a.yaml": otherKind}, want: onlyB, asked: [2]int{1, 1}, written: true},
		{name: "they are left out", files: map[string]string{"unsigned/a.yaml": sealed, "unsigned/c.yaml": "a: ["}, change: keepsGoing,
			want: append(onlyB, "unsigned/c.yaml malformed", "unsigned/a.yaml"+isSigned), asked: [2]int{1, 1}, written: true, leftOut: 2},
		{name: "what only a file that is left out excludes", files: map[string]string{"unsigned/A.yaml": sealed}, change: keepsGoing,
			want: append(both, "unsigned/A.yaml"+isSigned), asked: [2]int{1, 1}, written: true, leftOut: 1},
		{name: "a review refuses all", change: func(_ *repository, j *promotion.Job) { j.Recorder = refusing("unsigned/a.yaml") },
			want: []string{"unsigned/a.yaml not-approved"}},
		{name: "what has no approval is left out", change: func(_ *repository, j *promotion.Job) {
			j.KeepGoing = true
			j.Recorder = recording(func(plan *promotion.Plan) ([]*exception.Document, error) {
				if plan.Has("unsigned/a.yaml") {
					return nil, refuse("unsigned/a.yaml")
				}
				return plan.Prepared(), nil
			})
		}, want: append(onlyB, "unsigned/a.yaml not-approved"), asked: [2]int{0, 1}, written: true, leftOut: 1},
		{name: "what no file mends refuses all", change: func(_ *repository, j *promotion.Job) {
			j.KeepGoing, j.Recorder = true, refusing("elsewhere")
		}, want: []string{"elsewhere not-approved"}},
		{name: "the trust policy refuses all", change: func(_ *repository, j *promotion.Job) {
			j.Signer = signing(func(context.Context, []*exception.Document) ([]*exception.Document, error) {
				return nil, refuse("unsigned/a.yaml")
			})
		}, want: []string{"unsigned/a.yaml not-approved"}, asked: [2]int{1, 0}},
		{name: "what overlaps is refused", files: map[string]string{"signed/old.yaml": podText("old", "a")}, change: (*repository).noOverlaps,
			want: []string{"unsigned/a.yaml " + shape.ReasonOverlaps}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			files := map[string]string{"unsigned/a.yaml": podText("a", "a"), "unsigned/b.yaml": podText("b", "b")}
			if _, none := tc.files["unsigned/README.md"]; none {
				clear(files)
			}
			maps.Copy(files, tc.files)
			r := newRepository(t, files)
			head := r.Head()
			job, asked := r.job()
			if tc.change != nil {
				tc.change(r, &job)
			}
			result, err := promotion.Run(t.Context(), job)
			must.Do(r.TB, err)
			expect.Equal(t, "result", tc.want, outcome(result))
			if *asked != tc.asked || result.LeftOut != tc.leftOut {
				t.Errorf("%v records and signatures, %d files left out; want %v, %d", *asked, result.LeftOut, tc.asked, tc.leftOut)
			}
			if _, err := os.Stat(r.Path("signed/b.yaml")); (err == nil) != tc.written {
				t.Errorf("signed/b.yaml: %v", err)
			}
			if !tc.written {
				r.unchanged(head)
			}
		})
	}
}

// TestRunEmptyRefusal: an error with an empty list of refusals does not mean "nothing pending".
func TestRunEmptyRefusal(t *testing.T) {
	for _, empty := range []error{exception.Refusals{}, promotion.Findings{}} {
		r := newRepository(t, map[string]string{"unsigned/a.yaml": podText("a", "a")})
		job, _ := r.job()
		job.Signer = signing(func(context.Context, []*exception.Document) ([]*exception.Document, error) { return nil, empty })
		unrecorded := job
		unrecorded.Recorder = recording(func(*promotion.Plan) ([]*exception.Document, error) { return nil, empty })
		unrecorded.Signer = nil
		for _, j := range []promotion.Job{job, unrecorded} {
			result, err := promotion.Run(t.Context(), j)
			expect.That(t, err != nil, "%T: Run: %+v", empty, result)
		}
	}
}

// TestRunRehearses: an error that would stop every retry after the signing stops the run before the signing.
func TestRunRehearses(t *testing.T) {
	output := func(dir string) func(*repository, *promotion.Job) {
		return func(_ *repository, j *promotion.Job) { j.To.Way, j.To.Folder = deliver.Folder, dir }
	}
	for name, tc := range map[string]struct {
		prepare func(*repository, *promotion.Job)
		want    string
	}{
		"the output exists":                {output(t.TempDir()), "name another folder with --signed-output"},
		"the output has no folder":         {output(t.TempDir() + "/missing/sealed"), "no such file"},
		"another Git holds the branch":     {func(r *repository, _ *promotion.Job) { r.Write(".git/refs/heads/main.lock", "") }, "if no Git runs there, rm"},
		"another Git holds HEAD":           {func(r *repository, _ *promotion.Job) { r.Write(".git/HEAD.lock", "") }, "if no Git runs there, rm"},
		"a folder is in the way":           {func(r *repository, _ *promotion.Job) { r.Write("signed/a.yaml/", "") }, commit.ErrInTheWay.Error()},
		"nobody is trusted to have signed": {func(_ *repository, j *promotion.Job) { j.SignedInput = t.TempDir() }, "no trusted signer"},
		"HEAD is detached":                 {func(r *repository, _ *promotion.Job) { r.Git("checkout", "--quiet", "--detach") }, commit.ErrDetached.Error()},
	} {
		r := newRepository(t, map[string]string{"unsigned/a.yaml": podText("a", "a")})
		head := r.Head()
		job, asked := r.job()
		tc.prepare(r, &job)
		_, err := promotion.Run(t.Context(), job)
		expect.Error(t, err, tc.want)
		expect.Is(t, name+": signatures", 0, asked[1])
		r.unchanged(head)
	}
}

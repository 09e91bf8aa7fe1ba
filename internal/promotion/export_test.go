package promotion

import (
	"context"
	"time"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/internal/promotion/deliver"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/verify"
)

// Differs is differs, for tests: no honest signer makes a message that it rejects.
var Differs = differs

// Queue is a run that a test takes step by step.
type Queue struct{ *run }

// Open reads the pending exceptions of a clone.
func Open(clone *commit.Clone, o Options) (*Queue, error) {
	r := newRun(Job{Clone: clone, Options: o})
	return &Queue{r}, r.open()
}

// Plan makes the plan for a commit.
func (q *Queue) Plan(on git.Hash) (*Plan, error) { return q.planOn(on) }

// Refused are the files that were left out.
func (q *Queue) Refused() Findings { return q.result.Findings }

// Target returns the commit for a plan.
func Target(ctx context.Context, clone *commit.Clone, branch commit.Remote, local bool) (git.Hash, error) {
	to := deliver.To{Way: deliver.Push, Push: commit.Push{To: branch}}
	if local {
		to.Way = deliver.Commit
	}
	return newRun(Job{Clone: clone, To: to}).target(ctx)
}

// Signed are the signed files of a plan.
type Signed struct {
	*run
	files signedFiles
}

// Signed returns the signed form of each of [Plan.Documents], in the same order.
func (p *Plan) Signed(docs []*exception.Document) (*Signed, error) {
	s := &Signed{p.run, signedFiles{}}
	return s, s.files.add(p.Moves, docs)
}

// Make delivers the signed files.
func (s *Signed) Make(ctx context.Context, to deliver.To) (*Result, error) {
	s.To = to
	return s.result, s.deliver(ctx, s.files)
}

// Sources returns the signed files in the order of their names.
func (s *Signed) Sources() (sources []string) {
	for _, f := range s.run.files {
		sources = append(sources, string(s.files[f.From].signed))
	}
	return sources
}

// TakeOver reads a folder of signed files.
func (p *Plan) TakeOver(dir string, verifier *verify.Verifier, now time.Time) (*Signed, error) {
	p.run.SignedInput, p.run.Verifier, p.run.Now = dir, verifier, now
	signed, err := p.run.takeOver(p)
	return &Signed{p.run, signed}, err
}

// OnBranch reports whether a branch holds the promotion.
func (p *Plan) OnBranch(ctx context.Context, to deliver.To, verifier *verify.Verifier) (git.Hash, bool, error) {
	p.run.To, p.run.Verifier, p.run.Now = to, verifier, to.By.When
	return p.run.onBranch(ctx, p)
}

// Source returns the source commit.
func (p *Plan) Source() git.Hash { return p.run.result.Source }

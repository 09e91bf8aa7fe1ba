package sign

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/promote"
	"github.com/polex-dev/polex/pkg/exception"
)

// plan plans the promotion. With --keep-going it leaves out every file that anything
// rejects that is asked before a document is signed, until nothing rejects the rest.
func (p *promotion) plan(ctx context.Context, queue *promote.Queue, on plumbing.Hash) (*promote.Plan, recording, error) {
	var refused exception.Refusals
	for {
		plan, err := queue.Plan(on)
		if err != nil || !p.options.keepGoing {
			return plan, func() ([]*exception.Document, error) { return p.record(ctx, queue, plan) }, err
		}
		plan.Refused = append(plan.Refused, refused...)
		recorded, found, err := p.rejected(ctx, queue, plan)
		if err != nil {
			return nil, nil, err
		}
		if len(found) == 0 {
			return plan, func() ([]*exception.Document, error) { return recorded, nil }, nil
		}
		if !slices.ContainsFunc(found, func(r *exception.Refusal) bool { return plan.Has(r.Position.File) }) {
			return nil, nil, found // leaving out files would mend nothing
		}
		for _, r := range found {
			queue.LeaveOut(r.Position.File)
		}
		refused = append(refused, found...)
	}
}

// rejected returns what rejects documents of a plan before they are signed, or the
// documents with their record.
func (p *promotion) rejected(ctx context.Context, queue *promote.Queue, plan *promote.Plan) ([]*exception.Document, exception.Refusals, error) {
	said := p.report
	p.report = &cli.Report{Tool: said.Tool, Reasons: said.Reasons}
	err := errors.Join(p.refuseOverlaps(plan), p.check(plan.Documents()))
	var found exception.Refusals
	for _, result := range p.report.Results() {
		if result.Outcome == cli.Refuse {
			found = append(found, &exception.Refusal{Position: exception.Position{File: result.File, Line: result.Line, Column: result.Column},
				Reason: result.Reason, Message: result.Message, Hint: result.Hint})
		}
	}
	p.report = said
	if err != nil || len(found) > 0 || len(plan.Moves) == 0 {
		return nil, found, err
	}
	recorded, err := p.record(ctx, queue, plan)
	if errors.As(err, &found) {
		return nil, found, nil
	}
	return recorded, nil, err
}

// leaveOut puts on the report why files are left out, each file once.
func (p *promotion) leaveOut(refusals exception.Refusals) {
	if p.refused == nil {
		p.refused = map[string]bool{}
	}
	met := map[string]bool{}
	for _, r := range refusals {
		if name := r.Position.File; !p.refused[name] {
			p.refuse(exception.Refusals{r})
			met[name] = true
		}
	}
	if len(met) == 0 {
		return
	}
	for name := range met {
		p.refused[name] = true
	}
	p.report.Documents += len(met)
	_, _ = fmt.Fprintf(p.streams.Err, "%d of the pending files cannot be promoted and stay where they are\n", len(met))
}

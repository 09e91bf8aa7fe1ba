package sign

import (
	"context"
	"net/http"
	"os"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/polex-dev/polex/internal/command/reviewconfig"
	"github.com/polex-dev/polex/internal/promote"
	"github.com/polex-dev/polex/internal/review/record"
	"github.com/polex-dev/polex/pkg/exception"
)

// record returns the documents of a plan with who asked for them and who approved
// them, where that is recorded. Whoever takes over what another job sealed takes
// its record, too.
func (p *promotion) record(ctx context.Context, queue *promote.Queue, plan *promote.Plan) ([]*exception.Document, error) {
	docs := plan.Documents()
	if p.options.sealedInput != "" {
		return docs, nil
	}
	branch, err := p.branch()
	if err != nil {
		return nil, err
	}
	verifies, err := p.predecessors()
	if err != nil {
		return nil, err
	}
	recorder, err := reviewconfig.New(reviewconfig.Options{Config: p.config, Getenv: os.Getenv, Client: &http.Client{},
		Repository: p.clone.Repository, Source: queue.Source().String(), Branch: branch, Verify: verifies})
	if err != nil || recorder == nil {
		return docs, err
	}
	var files []record.File
	for _, m := range plan.Moves {
		f := record.File{Path: m.From, Documents: m.Documents, Predecessors: m.Predecessors}
		if m.Origin != nil {
			f.Origin = m.Origin.Commit.String()
		}
		files = append(files, f)
	}
	return recorder.Record(ctx, files)
}

// predecessors returns what verifies the predecessors of renewals, or nil where
// nothing says whose signature counts.
func (p *promotion) predecessors() (func(*exception.Document) (*exception.Document, error), error) {
	verifier, err := p.verifier()
	if err != nil || verifier == nil {
		return nil, err
	}
	return func(doc *exception.Document) (*exception.Document, error) { return verifier.Predecessor(doc, p.now) }, nil
}

// branch is the one that pull requests were merged into, or "".
func (p *promotion) branch() (string, error) {
	if p.push.To.Branch != "" {
		return p.push.To.Branch, nil
	}
	head, err := p.clone.Head()
	if err != nil || head.Branch == plumbing.HEAD {
		return "", err
	}
	return head.Branch.Short(), nil
}

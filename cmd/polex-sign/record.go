package main

import (
	"context"
	"net/http"
	"os"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/polex-dev/polex/cmd/internal/reviewconfig"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/promote"
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
	recorder, err := reviewconfig.New(reviewconfig.Options{Config: p.config, Getenv: os.Getenv, Client: &http.Client{},
		Objects: p.clone.Objects(), Source: queue.Source().String(), Branch: branch})
	if err != nil || recorder == nil {
		return docs, err
	}
	var files []reviewconfig.File
	for _, m := range plan.Moves {
		f := reviewconfig.File{Path: m.From, Documents: m.Documents}
		if m.Origin != nil {
			f.Origin = m.Origin.Commit.String()
		}
		files = append(files, f)
	}
	return recorder.Record(ctx, files)
}

// branch is the one that pull requests were merged into, or "".
func (p *promotion) branch() (string, error) {
	if p.options.pushes() {
		return p.push.To.Branch, nil
	}
	head, err := p.clone.Head()
	if err != nil || head.Branch == plumbing.HEAD {
		return "", err
	}
	return head.Branch.Short(), nil
}

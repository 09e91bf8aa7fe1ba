package main

import (
	"context"
	"errors"
	"fmt"
	"net/mail"

	"github.com/polex-dev/polex/cmd/internal/cli"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/gitchange"
	"github.com/polex-dev/polex/pkg/gittree"
	"github.com/polex-dev/polex/pkg/promote"
)

// promotion is one run of polex-sign --promote.
type promotion struct {
	*run
	clone  *gitchange.Clone
	author gitchange.Author
	push   gitchange.Push
}

// promote seals the repository's queue.
func (r *run) promote(ctx context.Context) error {
	clone, err := gitchange.Open(gitchange.Options{Dir: "."})
	if errors.Is(err, gitchange.ErrBusy) {
		return cli.Hint(err, "wait for it to end, and run this again")
	}
	if err != nil {
		return err
	}
	defer clone.Close() //nolint:errcheck // the kernel would do it
	if clone.Recovered != "" {
		_, _ = fmt.Fprintln(r.streams.Err, clone.Recovered)
	}
	p := &promotion{run: r, clone: clone}
	if r.options.commits() {
		if err := p.findAuthor(); err != nil {
			return err
		}
	}
	if r.options.pushes() {
		if err := p.findRemote(); err != nil {
			return err
		}
	}
	err = p.carryOut(ctx)
	var refused exception.Refusals
	if errors.As(err, &refused) {
		r.refuse(refused)
		r.report.Documents = max(r.report.Documents, len(refused))
		return errors.Join(r.format.Write(r.streams.Out, r.report), r.report.Err())
	}
	var revision *gittree.RevisionError
	if errors.As(err, &revision) {
		return &cli.UsageError{Err: err, Hint: revision.Hint()}
	}
	return err
}

// carryOut plans, seals and carries out.
func (p *promotion) carryOut(ctx context.Context) error {
	queue, err := promote.Open(p.clone, promote.Options{Unsigned: p.options.unsigned, Signed: p.options.signed, Source: p.options.source, Replace: p.options.replace})
	if err != nil {
		return err
	}
	head, err := p.clone.Head()
	if err != nil {
		return err
	}
	on := head.Commit
	if p.options.pushes() {
		if on, err = p.clone.Fetch(ctx, p.push.To); err != nil {
			return cli.Hint(err, "nothing was changed")
		}
	}
	plan, err := queue.Plan(on)
	if err != nil {
		return err
	}
	p.skip(plan.Skipped)
	if len(plan.Moves) == 0 {
		return p.nothing()
	}
	docs := plan.Documents()
	p.report.Documents += len(docs)
	sealed, err := p.seal(ctx, docs, p.streams.Out)
	if err != nil {
		return err
	}
	promotion, err := plan.Seal(sealed)
	if err != nil {
		return err
	}
	var done *promote.Done
	switch {
	case p.options.pushes():
		done, err = promotion.Push(ctx, p.author, p.push)
	case p.options.commit:
		done, err = promotion.Commit(ctx, p.author)
	default:
		done, err = promotion.Apply()
	}
	if err != nil {
		return pushHint(err)
	}
	return p.done(done)
}

// findAuthor makes sure that somebody commits before anything is signed.
func (p *promotion) findAuthor() error {
	p.author = gitchange.Author{When: p.now, Sign: p.options.signCommit}
	if p.options.author != "" {
		address, err := mail.ParseAddress(p.options.author)
		if err != nil || address.Name == "" {
			return cli.Usagef("--author %q is not written as Name <address>", p.options.author)
		}
		p.author.Name, p.author.Email = address.Name, address.Address
	}
	_, err := p.clone.Signature(p.author)
	if errors.Is(err, gitchange.ErrNoAuthor) {
		return &cli.UsageError{Err: err, Hint: "set Git's user.name and user.email, or pass --author 'Name <address>'"}
	}
	return err
}

// nothing ends a run that had nothing to sign.
func (p *promotion) nothing() error {
	if p.report.Documents == 0 {
		_, err := fmt.Fprintln(p.streams.Out, "nothing waits to be signed")
		return err
	}
	return errors.Join(p.format.Write(p.streams.Out, p.report), p.report.Err())
}

// skip puts on the report what is not this run's to sign.
func (p *promotion) skip(skipped []promote.Skip) {
	for _, s := range skipped {
		p.report.Documents++
		p.report.Add(cli.Result{Outcome: cli.Warn, File: s.File, Reason: s.Reason, Message: s.Message})
	}
}

// done says what became of each file.
func (p *promotion) done(done *promote.Done) error {
	for _, m := range done.Moves {
		for _, doc := range m.Documents {
			entry, err := promote.LogEntryOf(doc)
			if err != nil {
				return err
			}
			result := cli.ResultFor(doc)
			result.File, result.Outcome, result.Reason = m.To, cli.Pass, "signed"
			result.Message = fmt.Sprintf("%s signed, from %s", doc.Identity(), m.From)
			result.Details = map[string]any{"from": m.From}
			if entry != nil {
				result.Message += fmt.Sprintf(" (log index %d)", entry.Index)
				result.Details["logIndex"] = entry.Index
				if entry.IntegratedTime > 0 {
					result.Details["integratedTime"] = entry.IntegratedTime
				}
			}
			if m.Origin != nil {
				result.Details["origin"] = m.Origin.Commit.String()
			}
			if !done.Commit.IsZero() {
				result.Details["commit"] = done.Commit.String()
			}
			p.report.Add(result)
		}
	}
	if err := p.format.Write(p.streams.Out, p.report); err != nil {
		return err
	}
	if !done.Commit.IsZero() {
		_, _ = fmt.Fprintf(p.streams.Err, "%s %s\n", p.committed(), done.Commit)
	}
	if done.Left != "" {
		_, _ = fmt.Fprintln(p.streams.Err, cli.Escape(done.Left))
	}
	return p.report.Err()
}

func (p *promotion) committed() string {
	if p.options.pushes() {
		return "pushed to " + p.push.To.String()
	}
	return "committed"
}

package sign

import (
	"errors"
	"fmt"
	"time"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/lifetime"
	"github.com/polex-dev/polex/internal/plain"
	"github.com/polex-dev/polex/internal/promote"
	"github.com/polex-dev/polex/internal/promote/trailer"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/sign"
	"github.com/polex-dev/polex/pkg/trust"
)

// The reasons that a promotion gives.
const (
	reasonSigned    = "signed"
	reasonWouldSign = "would-be-signed"
	reasonWouldGo   = "would-be-replaced"
	reasonReplaced  = "replaced"
)

func ownReasons() []exception.Reason {
	return []exception.Reason{
		{Name: reasonSigned, Doc: "the exception is signed", Severity: exception.SeverityNote},
		{Name: reasonWouldSign, Doc: "a run without --dry-run would sign the exception", Severity: exception.SeverityNote},
		{Name: reasonWouldGo, Doc: "a run without --dry-run would replace the signed file", Severity: exception.SeverityNote},
		{Name: reasonReplaced, Doc: "another signed file replaces the file", Severity: exception.SeverityNote},
	}
}

// foresee says what a run would do, once everything is checked that a run checks
// before it signs.
func (p *promotion) foresee(plan *promote.Plan, record recording) error {
	if err := p.check(plan.Documents()); err != nil {
		return err
	}
	if _, err := p.verifier(); err != nil {
		return err
	}
	if _, err := trust.LoadRoot(p.trust.TrustedRoot); err != nil {
		return &cli.UsageError{Err: err}
	}
	if p.report.Err() == nil {
		recorded, err := record()
		if err != nil {
			return err
		}
		prepared, err := sign.Prepare(recorded, p.now, p.rules)
		if err != nil {
			return err
		}
		for _, m := range plan.Moves {
			for range m.Documents {
				result := p.moved(m, prepared[0], reasonWouldSign, "would be signed")
				p.report.Add(result)
				prepared = prepared[1:]
			}
			p.replaced(m, reasonWouldGo, "would be replaced by")
		}
	}
	p.leaveOut(plan.Refused)
	if err := p.format.Write(p.streams.Out, p.report); err != nil {
		return err
	}
	_, _ = fmt.Fprintln(p.streams.Err, "nothing was signed or written: this was a dry run")
	return p.report.Err()
}

// done says what became of each file.
func (p *promotion) done(done *promote.Done) error {
	p.skip(done.Skipped)
	p.leaveOut(done.Refused)
	for _, m := range done.Moves {
		for _, doc := range m.Documents {
			p.report.Documents++
			entry, err := trailer.LogEntryOf(doc)
			if err != nil {
				return err
			}
			result := p.moved(m, doc, reasonSigned, "signed")
			if entry != nil {
				result.Message += fmt.Sprintf(" (log index %d)", entry.Index)
				result.Details["logIndex"] = entry.Index
				if entry.IntegratedTime > 0 {
					result.Details["integratedTime"] = entry.IntegratedTime
				}
			}
			if !done.Commit.IsZero() {
				result.Details["commit"] = done.Commit.String()
			}
			p.report.Add(result)
		}
		p.replaced(m, reasonReplaced, "replaced by")
	}
	err := p.format.Write(p.streams.Out, p.report)
	if !done.Commit.IsZero() {
		_, _ = fmt.Fprintf(p.streams.Err, "%s %s\n", p.committed(), done.Commit)
	}
	if done.Left != "" {
		_, _ = fmt.Fprintln(p.streams.Err, plain.Line(done.Left))
	}
	return errors.Join(err, p.report.Err())
}

// moved begins the result of one document of a move.
func (p *promotion) moved(m *promote.Move, doc *exception.Document, reason, what string) cli.Result {
	result := cli.ResultFor(doc)
	result.File, result.Outcome, result.Reason = m.To, cli.Pass, reason
	result.Message = fmt.Sprintf("%s %s, from %s", doc.Identity(), what, m.From)
	result.Details = map[string]any{"from": m.From}
	if view, ok := doc.Exception(); ok {
		if lived, err := lifetime.Of(view); err == nil && !lived.ExpiresAt.IsZero() {
			result.Details["expiresAt"] = lived.ExpiresAt.UTC().Format(time.RFC3339)
		}
	}
	if m.Origin != nil {
		result.Details["origin"] = m.Origin.Commit.String()
	}
	var changes []map[string]string
	for _, change := range promote.Changes(m, doc) {
		at := change.Path.String()
		result.Facts = append(result.Facts, cli.Fact{Label: at, Value: change.Old() + " -> " + change.New()})
		changes = append(changes, map[string]string{"path": at, "old": change.Old(), "new": change.New()})
	}
	if len(changes) > 0 {
		result.Details["changes"] = changes
	}
	return result
}

// replaced says which signed files go.
func (p *promotion) replaced(m *promote.Move, reason, what string) {
	for _, r := range m.Replaces {
		result := cli.Result{Outcome: cli.Pass, File: r.Path, Reason: reason, Message: fmt.Sprintf("%s %s", what, m.To)}
		for _, doc := range r.Documents {
			if entry, err := trailer.LogEntryOf(doc); err == nil && entry != nil {
				result.Message += fmt.Sprintf(" (it was log index %d)", entry.Index)
			}
		}
		p.report.Add(result)
	}
}

// committed says where the commit is.
func (p *promotion) committed() string {
	if p.options.pushes() {
		return "pushed to " + p.pushedTo().String()
	}
	return "committed"
}

// handOver writes the sealed files for another job.
func (p *promotion) handOver(plan *promote.Plan, sealed []*exception.Document) error {
	if err := plan.HandOver(p.options.sealedOutput, sealed); err != nil {
		return err
	}
	promotion, err := plan.Seal(sealed)
	if err != nil {
		return err
	}
	p.report.Documents -= len(sealed) // they are counted as they are done
	return p.done(&promote.Done{Moves: promotion.Moves()})
}

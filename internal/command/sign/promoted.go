package sign

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/commitflags"
	"github.com/polex-dev/polex/internal/command/shapeconfig"
	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/internal/promotion"
	"github.com/polex-dev/polex/internal/promotion/commitmessage"
	"github.com/polex-dev/polex/internal/promotion/deliver"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
)

// The reasons of a promotion.
const (
	reasonSigned    = "signed"
	reasonWouldSign = "would-be-signed"
	reasonWouldGo   = "would-be-replaced"
	reasonReplaced  = "replaced"
)

func ownReasons() []exception.Reason {
	return []exception.Reason{
		{Name: reasonSigned, Doc: "the exception is signed", Severity: exception.SeverityNote},
		{Name: reasonWouldSign, Doc: "a run with --commit, --push or --pull-request would sign the exception",
			Severity: exception.SeverityNote},
		{Name: reasonWouldGo, Doc: "a run with --commit, --push or --pull-request would replace the signed file",
			Severity: exception.SeverityNote},
		{Name: reasonReplaced, Doc: "another signed file replaces the file", Severity: exception.SeverityNote},
	}
}

// promoted prints the result for each file.
func (r *run) promoted(result *promotion.Result) error {
	if result.Proposed {
		_, err := fmt.Fprintf(r.streams.Out, "%s has it already, as %s\n", result.To, result.Commit)
		if err != nil || !result.Findings.Refuse() {
			return err
		}
	}
	r.report.Documents = result.Documents + len(result.Skipped) + result.LeftOut
	r.report.Skipped = result.OtherKinds
	if r.options.way() == deliver.Plan {
		r.report.Done = "would be signed"
	}
	if result.Documents == 0 {
		r.report.Idle = cli.NothingPending(r.config.Directories.Unsigned)
		if slices.ContainsFunc(result.Skipped, func(s promotion.Skip) bool { return s.Signed }) {
			r.report.Idle = "nothing was promoted: every signed request was removed or changed in the meantime"
		}
	}
	r.report.Documents = cmp.Or(r.report.Documents, len(result.Findings))
	r.found(result.Findings)
	for _, s := range result.Skipped {
		r.report.Add(cli.Result{Outcome: cli.Warn, File: s.File, Reason: s.Reason, Message: s.Message})
	}
	for _, m := range result.Moves {
		documents, err := m.Signed()
		if err != nil {
			return err
		}
		for _, doc := range documents {
			r.report.Add(r.moved(m, doc, result))
			if warning, found := shapeconfig.ClientSideApply(doc); found {
				warning.File = m.To
				r.report.Add(warning)
			}
		}
		for _, gone := range m.Replaces {
			r.report.Add(r.replaced(m, gone))
			r.report.Aside++
		}
	}
	err := r.format.Write(r.streams.Out, r.report)
	if result.LeftOut > 0 {
		_, _ = fmt.Fprintf(r.streams.Err, "%d of the pending files cannot be promoted and stay where they are\n",
			result.LeftOut)
	}
	planned := ""
	if r.options.way() == deliver.Plan && result.Documents > 0 {
		planned = "sign"
	}
	commitflags.Print(r.streams.Err, planned, result.To, commit.Result{Commit: result.Commit, Left: result.Left})
	return errors.Join(err, r.report.Err())
}

// moved makes the result for one document of a move.
func (r *run) moved(m *promotion.Move, doc *exception.Document, done *promotion.Result) cli.Result {
	result := cli.ResultFor(doc)
	result.File, result.Outcome, result.Reason = m.To, cli.Pass, reasonSigned
	result.Message = fmt.Sprintf("%s signed, from %s", doc.Identity(), m.From)
	result.Details = map[string]any{"from": m.From}
	if r.options.way() == deliver.Plan {
		result.Reason, result.Message = reasonWouldSign, fmt.Sprintf("%s would be signed, from %s",
			doc.Identity(), m.From)
	}
	if lived, err := lifetime.Of(doc, r.checks.Rules.Terms); err == nil && !lived.ExpiresAt.IsZero() {
		result.Details["expiresAt"] = lived.ExpiresAt.UTC().Format(time.RFC3339)
	}
	if m.Origin != nil {
		result.Details["origin"] = m.Origin.Commit.String()
	}
	var changes []map[string]string
	for _, change := range promotion.Changes(m, doc) {
		at := change.Path.String()
		result.Facts = append(result.Facts, cli.Fact{Label: at, Value: change.Old() + " -> " + change.New()})
		changes = append(changes, map[string]string{"path": at, "old": change.Old(), "new": change.New()})
	}
	if len(changes) > 0 {
		result.Details["changes"] = changes
	}
	if entry, err := commitmessage.LogEntryOf(doc); err == nil && entry != nil {
		result.Message += fmt.Sprintf(" (log index %d)", entry.Index)
		result.Details["logIndex"] = entry.Index
		if entry.IntegratedTime > 0 {
			result.Details["integratedTime"] = entry.IntegratedTime
		}
	}
	if !done.Commit.IsZero() {
		result.Details["commit"] = done.Commit.String()
	}
	return result
}

// replaced makes the result for a replaced signed file.
func (r *run) replaced(m *promotion.Move, gone promotion.Replaced) cli.Result {
	result := cli.Result{Outcome: cli.Pass, File: gone.Path, Reason: reasonReplaced, Message: "replaced by " + m.To}
	if r.options.way() == deliver.Plan {
		result.Reason, result.Message = reasonWouldGo, "would be replaced by "+m.To
	}
	for _, doc := range gone.Documents {
		if entry, err := commitmessage.LogEntryOf(doc); err == nil && entry != nil {
			result.Message += fmt.Sprintf(" (it was log index %d)", entry.Index)
		}
	}
	return result
}

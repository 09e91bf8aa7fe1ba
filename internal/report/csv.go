package report

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/polex-dev/polex/internal/ledger"
	"github.com/polex-dev/polex/internal/plain"
)

var csvHeader = []string{
	"object", "version", "state", "verified", "policies", "rules",
	"reason", "ticket", "owner", "category", "requested by", "approved by", "pull request",
	"signed at", "signed by", "run", "commit", "log", "log index", "message digest",
	"starts at", "expires at", "reason now", "reason at signing",
	"asked at (by Git)", "asked by (by Git)", "asked in (by Git)",
	"appeared at (by Git)", "appeared in (by Git)",
	"left at (by Git)", "left by (by Git)", "left in (by Git)", "left how",
	"in cluster", "file",
	"renews", "message renewed", "renewal", "renewed by", "chain from", "chain until",
}

// CSV writes one line per entry in the format of RFC 4180.
func CSV(w io.Writer, v *Report) error {
	out := csv.NewWriter(w)
	out.UseCRLF = true
	if err := out.Write(csvHeader); err != nil {
		return err
	}
	for _, e := range v.Entries {
		cells := csvCells(e)
		for i, cell := range cells {
			cells[i] = csvCell(cell)
		}
		if err := out.Write(cells); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// csvCell prevents formula injection: a spreadsheet executes a cell that begins like a formula, and
// the formula can send data. A leading quotation mark turns the cell into text.
func csvCell(text string) string {
	text = plain.Line(text)
	if text != "" && strings.ContainsRune("=+-@\t\r|%", rune(text[0])) || strings.HasPrefix(text, "＝") || strings.HasPrefix(text, "＋") || strings.HasPrefix(text, "－") || strings.HasPrefix(text, "＠") {
		return "'" + text
	}
	return text
}

func csvCells(e *ledger.Entry) []string {
	var policies, rules []string
	for _, p := range e.Policies {
		policies = append(policies, p.String())
		rules = append(rules, p.Rules...)
	}
	row := []string{e.Identity.String(), strconv.Itoa(e.Version), string(e.State), strconv.FormatBool(e.Verified), strings.Join(policies, " "), strings.Join(rules, " "),
		e.Said.Reason, e.Said.Ticket, e.Said.Owner, e.Said.Category, e.Said.RequestedBy, e.Said.ApprovedBy, e.Said.PullRequest}
	s, seal := cmp.Or(signature(e), &ledger.Signature{LogIndex: -1}), cmp.Or(e.Seal, &ledger.Seal{})
	index := ""
	if s.LogIndex >= 0 {
		index = fmt.Sprint(s.LogIndex)
	}
	row = append(row, clock(seal.SignedAt), s.Subject, s.Run, s.Commit, s.LogURL, index, seal.MessageDigest,
		clock(e.StartsAt), clock(e.ExpiresAt), seal.Now.Reason, seal.AtSigning.Reason)
	request, appeared, left := cmp.Or(e.Request, &ledger.Request{}), cmp.Or(e.Appeared, &ledger.Appearance{}), cmp.Or(e.Left, &ledger.Departure{})
	row = append(row, clock(request.At), request.By, request.Commit, clock(appeared.At), appeared.Commit,
		clock(left.At), left.By, left.Commit, string(left.How), string(e.Cluster), e.File)
	return append(row, renewalCells(e)...)
}

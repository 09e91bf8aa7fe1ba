package cli

import (
	"cmp"
	"slices"

	"github.com/polex-dev/polex/pkg/exception"
)

// Outcome is what became of a document, or of a part of it.
type Outcome string

// The outcomes. A warning fails nothing.
const (
	Pass    Outcome = "passed"
	Refuse  Outcome = "refused"
	Unknown Outcome = "undecided"
	Warn    Outcome = "warning"
)

// Result is one line of a report. Message and Hint may hold untrusted text; the
// formats escape it.
type Result struct {
	Outcome Outcome        `json:"outcome"`
	File    string         `json:"file,omitempty"`
	Line    int            `json:"line,omitempty"`
	Column  int            `json:"column,omitempty"`
	Reason  string         `json:"reason"`
	Message string         `json:"message"`
	Hint    string         `json:"hint,omitempty"`
	Path    string         `json:"path,omitempty"`   // inside the document
	Object  string         `json:"object,omitempty"` // the document's identity
	Details map[string]any `json:"details,omitempty"`
	Facts   []Fact         `json:"-"` // for text alone, below the line
}

// Fact is something that is known about a document, in a few words. Its value may
// hold untrusted text.
type Fact struct{ Label, Value string }

// Source is the commit that the documents are from. The files of the results
// are then paths in it.
type Source struct {
	Revision string `json:"revision"` // as it was asked for
	Commit   string `json:"commit"`
}

// ResultFor begins a result about a whole document.
func ResultFor(doc *exception.Document) Result {
	at := doc.Position()
	return Result{File: at.File, Line: at.Line, Column: at.Column, Object: doc.Identity().String()}
}

// ResultOf is the result for what a refusal is about.
func ResultOf(r *exception.Refusal) Result {
	at := r.Position
	return Result{Outcome: Refuse, File: at.File, Line: at.Line, Column: at.Column, Reason: r.Reason, Message: r.Message, Hint: r.Hint}
}

// silent reports whether a result says that a document passed, and no more.
// Formats for people count those.
func (r *Result) silent() bool { return r.Outcome == Pass && r.Message == "" }

// NothingPending is what [Report.Idle] says of the folder of pending exceptions.
const NothingPending = "nothing waits to be signed"

// Report collects the results of one run.
type Report struct {
	Tool      string
	Documents int // found, whatever became of them
	Source    *Source
	Unchanged int // files that were not looked at, since only changed ones were asked for
	Skipped   int // files that hold documents of other kinds alone
	// Reasons documents those of the results, for formats that list them; those of
	// [Reasons] need not be among them. Of two with one name, the first counts.
	Reasons []exception.Reason
	// Idle is set for what acts on a queue, for which having nothing to do is success:
	// the line that says so.
	Idle string
	// Done says what became of the documents that passed, where a command does something
	// to them: "removed". The last line says how many those are.
	Done string
	// Aside counts the passed results that are not about a document of this run.
	Aside int
	// CountPassed is set to count documents that passed without a word, and not to
	// keep a result for each, of which there may be very many: only JSON lists them.
	CountPassed bool
	// Edits are the other files that a command changes, and Notes what it leaves for people.
	// Only JSON lists them: a command prints them itself, beside its report.
	Edits, Notes []string

	results []Result
	counts  map[Outcome]int
	read    map[string]bool // files on disk that hold the documents
}

// Add puts results on the report.
func (r *Report) Add(results ...Result) {
	if r.counts == nil {
		r.counts = map[Outcome]int{}
	}
	for _, result := range results {
		r.counts[result.Outcome]++
		if !r.CountPassed || !result.silent() {
			r.results = append(r.results, result)
		}
	}
}

// Results returns the results that are kept, in the order of file, line, column
// and reason. They belong to the report.
func (r *Report) Results() []Result {
	slices.SortStableFunc(r.results, func(a, b Result) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Reason, b.Reason))
	})
	return r.results
}

// Count returns how many results have an outcome, whether they are kept or not.
func (r *Report) Count(o Outcome) int { return r.counts[o] }

// Status returns the exit status: [Passed] if and only if there was at least
// one document, or a file that has not changed where only changed ones were
// asked for, or one of other kinds that was skipped, or there may be nothing to
// do, and nothing was refused or undecided.
func (r *Report) Status() int {
	switch {
	case r.Count(Unknown) > 0, r.Idle == "" && r.Documents+r.Unchanged+r.Skipped == 0 && r.Count(Refuse) == 0:
		return Undecided
	case r.Count(Refuse) > 0:
		return Refused
	default:
		return Passed
	}
}

// Err returns the status as an error for a command to end with, or nil.
func (r *Report) Err() error {
	if s := r.Status(); s != Passed {
		return StatusError(s)
	}
	return nil
}

package cli

import (
	"cmp"
	"os"
	"path"
	"slices"

	"github.com/polex-dev/polex/pkg/exception"
)

// Outcome is the result for a document or a part of it.
type Outcome string

// The outcomes. A warning does not fail the run.
const (
	Pass    Outcome = "passed"
	Refuse  Outcome = "refused"
	Unknown Outcome = "undecided"
	Warn    Outcome = "warning"
)

// Result is one line of a report. Message and Hint may hold untrusted text; the formats escape it.
type Result struct {
	Outcome Outcome        `json:"outcome"`
	File    string         `json:"file,omitempty"`
	Line    int            `json:"line,omitempty"`
	Column  int            `json:"column,omitempty"`
	Reason  string         `json:"reason"`
	Message string         `json:"message"`
	Hint    string         `json:"hint,omitempty"`
	Path    string         `json:"path,omitempty"`   // inside the document
	Object  string         `json:"object,omitempty"` // the identity of the document
	Details map[string]any `json:"details,omitempty"`
	Facts   []Fact         `json:"-"` // only for the text format, below the line
}

// Fact is a short fact about a document. Its value may hold untrusted text.
type Fact struct{ Label, Value string }

// Source is the commit of the documents. Then the files of the results are paths in it.
type Source struct {
	Revision string `json:"revision"` // as on the command line
	Commit   string `json:"commit"`
}

// ResultFor starts a result about a whole document.
func ResultFor(doc *exception.Document) Result {
	at := doc.Position()
	return Result{File: at.File, Line: at.Line, Column: at.Column, Object: doc.Identity().String()}
}

// ResultOf makes the result for a refusal.
func ResultOf(r *exception.Refusal) Result {
	at := r.Position
	return Result{Outcome: Refuse, File: at.File, Line: at.Line, Column: at.Column, Reason: r.Reason,
		Message: r.Message, Hint: r.Hint}
}

// silent reports whether a result says only that a document passed.
func (r Result) silent() bool { return r.Outcome == Pass && r.Message == "" }

// shown returns the results for people, who get the number of the silent ones.
func (r *Report) shown() []Result { return slices.DeleteFunc(slices.Clone(r.Results()), Result.silent) }

// NothingPending is [Report.Idle] for the folder of pending exceptions; "" is the default folder.
func NothingPending(unsigned string) string {
	return "no pending exceptions in " + path.Clean(cmp.Or(unsigned, "unsigned")) + "/"
}

// Report collects the results of one run.
type Report struct {
	Tool      string
	Documents int // number of documents with any outcome
	Source    *Source
	Unchanged int // files that --changed-since left out
	Skipped   int // files with only documents of other kinds
	// Reasons documents the reasons of the results, for formats that list them, in addition to
	// [Reasons]. If two have the same name, the first one is used.
	Reasons []exception.Reason
	// Idle is the message for a run without documents. If it is set, such a run is a success.
	Idle string
	// Done describes the action on passed documents, such as "removed". The summary shows their
	// number.
	Done string
	// Aside counts the passed results that are not about a document of this run.
	Aside int
	// CountPassed only counts documents that passed without a message, to save memory. Only the
	// JSON format lists them.
	CountPassed bool
	// Remark is a sentence about the whole run, printed below the summary and among the notes of JSON.
	Remark string
	// Edits are other files that the command changes, and Notes are tasks for the user. Only the
	// JSON format lists them; the command prints them itself.
	Edits, Notes []string

	results []Result
	counts  map[Outcome]int
	inputs  []string // paths that were read
}

// Add adds results to the report.
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

// Results returns the stored results, sorted by file, line, column and reason. The caller must not
// change them.
func (r *Report) Results() []Result {
	slices.SortStableFunc(r.results, func(a, b Result) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Reason, b.Reason))
	})
	return r.results
}

// holds reports whether a path is a file that the run has read, or has written a result about, such as a draft.
func (r *Report) holds(path string) bool {
	out := placeOf("", path, false)
	return slices.ContainsFunc(r.inputs, func(input string) bool { return out.is(placeOf("", input, true)) }) ||
		slices.ContainsFunc(r.results, func(result Result) bool {
			file, err := os.Stat(result.File)
			return err == nil && out.info != nil && file.Mode().IsRegular() && os.SameFile(out.info, file)
		})
}

// Count returns the number of results with an outcome, stored or not.
func (r *Report) Count(o Outcome) int { return r.counts[o] }

// Status returns the exit code. It is [Passed] if nothing was refused or undecided, and the run
// found a document, an unchanged file or a skipped file, or Idle is set.
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

// Err returns the exit code as an error, or nil.
func (r *Report) Err() error {
	if s := r.Status(); s != Passed {
		return StatusError(s)
	}
	return nil
}

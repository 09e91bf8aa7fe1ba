package cli

import (
	"iter"

	"github.com/polex-dev/polex/pkg/exception"
)

// Documents reads the documents of paths that the checks only refer to, such as signed/ or
// manifests. It yields one document at a time, because all of them may not fit into memory. It adds
// malformed documents to the report with the given outcome, even if the loop ends early. An empty
// folder is not an error.
func Documents(paths []string, report *Report, malformed Outcome) iter.Seq[*exception.Document] {
	return func(yield func(*exception.Document) bool) {
		aside, more := &Report{}, true
		Inputs{Paths: paths, Report: aside, Large: true}.Each(func(doc *exception.Document) { more = more && yield(doc) })
		for _, result := range aside.Results() {
			switch {
			case result.Reason == ReasonNoDocuments:
				continue
			case result.Outcome == Refuse:
				result.Outcome = malformed
			}
			report.Add(result)
		}
	}
}

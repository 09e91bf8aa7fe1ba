package cli

import (
	"iter"

	"github.com/polex-dev/polex/pkg/exception"
)

// Documents reads what paths hold beside the documents that are judged, one
// after another as it is ranged over: signed/ alone may be more than is wanted in
// memory. A malformed one goes on the report with the outcome given, whether or
// not the range ends early, and an empty folder holds nothing.
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

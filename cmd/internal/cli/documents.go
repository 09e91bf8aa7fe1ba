package cli

import "github.com/polex-dev/polex/pkg/exception"

// Documents reads what paths hold beside the documents that are judged. A
// malformed one goes on the report with the outcome given, and an empty folder
// holds nothing.
func Documents(paths []string, report *Report, malformed Outcome) []*exception.Document {
	var docs []*exception.Document
	aside := &Report{}
	Inputs{Paths: paths, Report: aside}.Each(func(doc *exception.Document) { docs = append(docs, doc) })
	for _, result := range aside.Results() {
		switch {
		case result.Reason == ReasonNoDocuments:
			continue
		case result.Outcome == Refuse:
			result.Outcome = malformed
		}
		report.Add(result)
	}
	return docs
}

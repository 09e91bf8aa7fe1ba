package cli

import (
	"io/fs"
	"iter"
	"path/filepath"
	"slices"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/pkg/exception"
)

// Documents reads the documents of paths that the checks only refer to, such as signed/ or
// manifests. It yields one document at a time, because all of them may not fit into memory. It adds
// malformed documents to the report with the given outcome, even if the loop ends early. An empty
// folder is not an error.
func Documents(paths []string, report *Report, malformed Outcome) iter.Seq[*exception.Document] {
	return func(yield func(*exception.Document) bool) {
		aside, more := &Report{}, true
		Inputs{Paths: paths, Report: aside,
			Large: true}.Each(func(doc *exception.Document) { more = more && yield(doc) })
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

// Given adds a warning for each of the paths that is a folder without documents, and a hint for each
// that could not be read. setting is the flag or the setting that names the paths: they may be wrong.
func Given(report *Report, setting string, paths []string) {
	for i, result := range report.results {
		if result.Reason == ReasonUnreadable && slices.Contains(paths, result.File) {
			report.results[i].Hint = "correct " + setting
		}
	}
	for _, folder := range paths {
		found := false
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && (path == folder || exception.HoldsDocuments(path)) {
				found = true
				return fs.SkipAll
			}
			return err
		})
		if err == nil && !found {
			report.Add(Result{Outcome: Warn, File: folder, Reason: ReasonNoDocuments,
				Message: "there is no .yaml, .yml or .json file in this folder", Hint: "correct " + setting})
		}
	}
}

// Policies reads the Kyverno policies at paths. It returns nil without paths. A file that cannot be
// read completely is one error on the report, and makes the set incomplete. Otherwise an exception
// could pass because its policy is missing, or be rejected because its policy is unknown.
func Policies(paths []string, report *Report) *kyverno.PolicySet {
	if len(paths) == 0 {
		return nil
	}
	aside, failed := &Report{}, map[string]bool{}
	var docs []*exception.Document
	Inputs{Paths: paths, Report: aside, Large: true,
		Aliases: true}.Each(func(doc *exception.Document) { docs = append(docs, doc) })
	for _, result := range aside.Results() {
		if result.Reason == ReasonNoDocuments || failed[result.File] {
			continue // an empty folder is allowed
		}
		failed[result.File] = true
		result.Message = "this file of policies cannot be read: " + result.Message
		report.Add(result)
	}
	set := kyverno.ReadPolicies(docs)
	set.Incomplete = len(failed) > 0
	return set
}

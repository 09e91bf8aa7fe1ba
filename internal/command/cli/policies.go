package cli

import (
	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/pkg/exception"
)

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

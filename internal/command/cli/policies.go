package cli

import (
	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/pkg/exception"
)

// Policies reads the Kyverno policies at paths, nil where there are none. A file that cannot be
// read, or only in part, is one error on the report, and the set is then incomplete: an exception
// must not pass for want of the policy that it is from, and one in that file is not unknown.
func Policies(paths []string, report *Report) *kyverno.PolicySet {
	if len(paths) == 0 {
		return nil
	}
	aside, failed := &Report{}, map[string]bool{}
	var docs []*exception.Document
	Inputs{Paths: paths, Report: aside, Large: true, Aliases: true}.Each(func(doc *exception.Document) { docs = append(docs, doc) })
	for _, result := range aside.Results() {
		if result.Reason == ReasonNoDocuments || failed[result.File] {
			continue // an empty folder holds nothing
		}
		failed[result.File] = true
		result.Message = "this file of policies cannot be read: " + result.Message
		report.Add(result)
	}
	set := kyverno.ReadPolicies(docs)
	set.Incomplete = len(failed) > 0
	return set
}

package request

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/internal/plain"
	"github.com/polex-dev/polex/pkg/exception"
)

// Report is the content of a report, or of a list of reports.
type Report struct {
	Violations []Violation // failed results
	Passed     int         // number of other results
	Foreign    int         // number of results of other tools, which no exception can answer
}

// FromReport returns the failed results of a PolicyReport or ClusterPolicyReport (wgpolicyk8s.io),
// a Report or ClusterReport (openreports.io), or a list of them. Another document is a problem, and
// so are more than [MaxViolations].
func FromReport(doc *exception.Document) (*Report, *Problem) {
	r := &Report{}
	for _, one := range manifest.Objects([]*exception.Document{doc}) {
		if p := r.read(one, doc.Position()); p != nil {
			return nil, p
		}
	}
	return r, nil
}

func (r *Report) read(doc *exception.Document, at exception.Position) *Problem {
	gk := doc.GroupKind()
	if !kyverno.IsReport(gk) {
		return problem(ReasonNotAReport, Violation{Position: at},
			"give a PolicyReport, or name the kind of the source with --from",
			"found kind %q of %q, expected a policy report",
			plain.Cut(gk.Kind, longestQuote), plain.Cut(doc.APIVersion(), longestQuote))
	}
	results, _ := doc.Lookup("results")
	list, _ := results.([]any)
	scope, _ := doc.Lookup("scope")
	for i, item := range list {
		v, counts := r.result(item)
		if !counts {
			continue
		}
		if v.Position = doc.PositionOf(exception.Path{"results", i}); v.Position.Line == 0 {
			v.Position = at // an item of a list
		}
		result, _ := item.(map[string]any)
		about, _ := result["resources"].([]any)
		if len(about) == 0 {
			about = []any{scope}
		}
		for _, object := range about {
			v.Resource = resourceOf(object)
			r.Violations = append(r.Violations, v)
		}
		if len(r.Violations) > MaxViolations {
			return problem(ReasonTooMany, Violation{Position: at},
				"give the reports of one namespace, or of one resource",
				"there are more than %d violations", MaxViolations)
		}
	}
	return nil
}

// result reads one result, and reports whether it is a violation of a Kyverno policy.
func (r *Report) result(result any) (Violation, bool) {
	if status := textOf(result, "result"); status != "fail" && status != "warn" {
		r.Passed++
		return Violation{}, false
	}
	v := Violation{Policy: textOf(result, "policy"), Rule: textOf(result, "rule"),
		Message: textOf(result, "message")}
	kind, known := kyverno.ReportedKind(textOf(result, "source"), v.Policy)
	if !known {
		r.Foreign++
		return Violation{}, false
	}
	if v.PolicyKind = kind; !kyverno.HasRules(kind) {
		v.Rule = ""
	}
	tree, _ := result.(map[string]any)
	v.Controls = controlsOf(textOf(tree["properties"], "controlsJSON"))
	return v, true
}

// controlsOf parses the controls of Pod security in a report of Kyverno. It drops controls that an
// exception cannot name.
func controlsOf(text string) []Control {
	var written []struct {
		Name   string
		Images []string
	}
	if json.Unmarshal([]byte(text), &written) != nil {
		return nil
	}
	var controls []Control
	known := slices.Collect(maps.Values(controlsByReason))
	for _, w := range written {
		if slices.Contains(known, w.Name) {
			controls = merged(controls, []Control{{Name: w.Name, Images: w.Images}})
		}
	}
	return controls
}

func resourceOf(object any) Resource {
	return Resource{textOf(object, "apiVersion"), textOf(object, "kind"), textOf(object, "namespace"),
		textOf(object, "name")}
}

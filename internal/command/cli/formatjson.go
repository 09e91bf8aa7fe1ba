package cli

import (
	"io"
	"net/url"
	"path/filepath"
	"slices"

	"github.com/polex-dev/polex/internal/plain"
	"github.com/polex-dev/polex/pkg/exception"
)

func writeJSON(w io.Writer, r *Report) error {
	type summary struct {
		Documents int `json:"documents"`
		Passed    int `json:"passed"`
		Refused   int `json:"refused"`
		Undecided int `json:"undecided"`
		Warnings  int `json:"warnings"`
		Unchanged int `json:"unchangedFiles"`
		Skipped   int `json:"skippedFiles"`
		Status    int `json:"exitStatus"`
	}
	type tool struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	results := r.Results()
	if results == nil {
		results = []Result{}
	}
	notes := r.Notes
	if r.Remark != "" {
		notes = append(slices.Clone(notes), r.Remark)
	}
	out := struct {
		APIVersion string   `json:"apiVersion"`
		Kind       string   `json:"kind"`
		Tool       tool     `json:"tool"`
		Source     *Source  `json:"source,omitempty"`
		Summary    summary  `json:"summary"`
		Results    []Result `json:"results"`
		Edits      []string `json:"edits,omitempty"`
		Notes      []string `json:"notes,omitempty"`
	}{
		APIVersion: "polex.dev/v1alpha1", Kind: "Report",
		Tool: tool{r.Tool, VersionText()}, Source: r.Source,
		Summary: summary{Documents: r.Documents, Passed: r.Count(Pass), Refused: r.Count(Refuse),
			Undecided: r.Count(Unknown), Warnings: r.Count(Warn), Unchanged: r.Unchanged, Skipped: r.Skipped,
			Status: r.Status()},
		Results: results, Edits: r.Edits, Notes: notes,
	}
	return plain.WriteJSON(w, out)
}

// explained is the page that explains every reason, each under an anchor.
const explained = "https://github.com/polex-dev/polex/blob/main/docs/reference/reasons.md#"

// rule describes a reason for SARIF.
func (r *Report) rule(name string) map[string]any {
	rule := map[string]any{"id": name, "helpUri": explained + name}
	all := slices.Concat(r.Reasons, Reasons())
	if i := slices.IndexFunc(all, func(reason exception.Reason) bool { return reason.Name == name }); i >= 0 {
		rule["shortDescription"] = map[string]any{"text": all[i].Doc}
		rule["defaultConfiguration"] = map[string]any{"level": all[i].Severity.String()}
	}
	return rule
}

// writeSARIF writes SARIF 2.1.0 for code scanning. It leaves out passed documents.
func writeSARIF(w io.Writer, r *Report) error {
	type object = map[string]any
	results := []object{}
	rules := []object{}
	ruleIndex := map[string]int{}
	for _, res := range r.Results() {
		if res.Outcome == Pass {
			continue
		}
		index, known := ruleIndex[res.Reason]
		if !known {
			index = len(rules)
			ruleIndex[res.Reason] = index
			rules = append(rules, r.rule(res.Reason))
		}
		level := "error"
		if res.Outcome == Warn {
			level = "warning"
		}
		text := plain.Line(res.Message)
		if res.Hint != "" {
			text += ". " + plain.Line(res.Hint)
		}
		results = append(results, object{
			"ruleId": res.Reason, "ruleIndex": index, "level": level,
			"message": object{"text": text},
			"locations": []object{{"physicalLocation": object{
				"artifactLocation": object{"uri": sarifURI(res.File)},
				"region":           object{"startLine": max(res.Line, 1), "startColumn": max(res.Column, 1)},
			}}},
		})
	}
	return plain.WriteJSON(w, object{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json",
		"version": "2.1.0",
		"runs": []object{{
			"tool": object{"driver": object{
				"name": r.Tool, "version": VersionText(),
				"informationUri": "https://github.com/polex-dev/polex", "rules": rules,
			}},
			"invocations": []object{{"executionSuccessful": r.Count(Unknown) == 0, "exitCode": r.Status()}},
			"results":     results,
		}},
	})
}

// sarifURI returns a path as a relative reference for SARIF.
func sarifURI(path string) string { return (&url.URL{Path: filepath.ToSlash(path)}).String() }

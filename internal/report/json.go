package report

import (
	"io"

	"github.com/polex-dev/polex/internal/ledger"
	"github.com/polex-dev/polex/internal/plain"
)

// jsonReport is the JSON format that docs/ledger.schema.json describes.
type jsonReport struct {
	APIVersion string           `json:"apiVersion"`
	Kind       string           `json:"kind"`
	Tool       jsonTool         `json:"tool"`
	Source     jsonSource       `json:"source"`
	At         string           `json:"asOf"`
	MadeAt     string           `json:"madeAt"`
	Trust      Trust            `json:"trustPolicy"`
	Cluster    map[string]int   `json:"cluster,omitempty"`
	Summary    jsonSummary      `json:"summary"`
	Sums       jsonSums         `json:"sums"`
	Findings   []ledger.Finding `json:"findings"`
	Entries    []*ledger.Entry  `json:"entries"`
}

type jsonTool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

type jsonSource struct {
	Repository  string `json:"repository"`
	Revision    string `json:"revision"`
	Commit      string `json:"commit,omitempty"`
	FirstCommit string `json:"firstCommit,omitempty"`
	Commits     int    `json:"commits"`
	Merged      int    `json:"mergedCommits"`
	Shallow     bool   `json:"shallow"`
}

type jsonSummary struct {
	States   map[ledger.State]int `json:"states"`
	Findings int                  `json:"findings"`
	Failed   []string             `json:"failed"`
	Status   int                  `json:"exitStatus"`
}

type jsonSums struct {
	ledger.Sums
	Chains []*ledger.Chain `json:"chains"`
}

// JSON writes the whole report in the format of docs/ledger.schema.json.
func JSON(w io.Writer, v *Report) error {
	out := v.about()
	out.Summary = jsonSummary{v.States(), len(v.Findings), present(v.Failed), v.Status}
	out.Sums = jsonSums{v.Totals, present(v.Chains)}
	out.Findings, out.Entries = present(v.Findings), present(v.Entries)
	if v.Compared {
		out.Cluster = map[string]int{"objects": v.Objects}
	}
	return plain.WriteJSON(w, out)
}

// about returns the fields about the report itself.
func (v *Report) about() jsonReport {
	trust := v.Trust
	trust.Signers = present(trust.Signers)
	return jsonReport{
		APIVersion: "polex.dev/v1alpha1", Kind: "Ledger", Tool: jsonTool{"polex-audit", v.Version},
		Source: jsonSource{v.Repository, v.Revision, v.Tip, v.Root, v.Commits, v.Merged, v.Shallow},
		At:     plain.Time(v.At), MadeAt: plain.Time(v.MadeAt), Trust: trust,
	}
}

// fact is a field with its values.
type fact struct {
	Label  string
	Values []string
}

// facts returns the fields about the report for the other formats; see reportFields.
func (v *Report) facts() []fact {
	about := decoded(v.about())
	return listOf(reportFields, func(path string) fact { return fact{name(path), notEmpty(lookUp(about, path))} })
}

// present returns an empty list for nil, so that JSON has [] and not null.
func present[T any](list []T) []T { return append([]T{}, list...) }

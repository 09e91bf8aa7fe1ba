package report

import (
	"cmp"
	"encoding/csv"
	"io"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/plain"
)

// CSV writes one line per entry in the format of RFC 4180: the fields of the entry, then the fields of
// the report.
func CSV(w io.Writer, v *Report) error {
	out := csv.NewWriter(w)
	out.UseCRLF = true
	common := listOf(v.facts(), func(f fact) string { return csvCell(joined(f.Values)) })
	err := out.Write(listOf(slices.Concat(fields, reportFields), name))
	for _, e := range v.Entries {
		r := rowOf(e)
		cells := listOf(fields, func(path string) string { return csvCell(r.Text(path)) })
		err = cmp.Or(err, out.Write(append(cells, common...)))
	}
	out.Flush()
	return cmp.Or(err, out.Error())
}

// csvCell prevents formula injection: a spreadsheet executes a cell that begins like a formula, and
// the formula can send data. A leading quotation mark turns the cell into text.
func csvCell(text string) string {
	text = plain.Line(text)
	for _, begin := range []string{"=", "+", "-", "@", "\t", "\r", "|", "%", "＝", "＋", "－", "＠"} {
		if strings.HasPrefix(text, begin) {
			return "'" + text
		}
	}
	return text
}

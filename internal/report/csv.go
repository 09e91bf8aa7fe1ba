package report

import (
	"encoding/csv"
	"io"
	"strings"

	"github.com/polex-dev/polex/internal/plain"
)

// CSV writes one line per entry in the format of RFC 4180: the fields of the entry, then the fields of
// the report.
func CSV(w io.Writer, v *Report) error {
	out := csv.NewWriter(w)
	out.UseCRLF = true
	var header, common []string
	for _, f := range fields {
		header = append(header, name(f.path))
	}
	for _, f := range reportFields {
		header = append(header, name(f.path))
		common = append(common, csvCell(joined(f.values(v))))
	}
	if err := out.Write(header); err != nil {
		return err
	}
	for _, e := range v.Entries {
		row := make([]string, 0, len(header))
		for _, f := range fields {
			row = append(row, csvCell(joined(f.values(e))))
		}
		if err := out.Write(append(row, common...)); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// csvCell prevents formula injection: a spreadsheet executes a cell that begins like a formula, and
// the formula can send data. A leading quotation mark turns the cell into text.
func csvCell(text string) string {
	text = plain.Line(text)
	if text != "" && strings.ContainsRune("=+-@\t\r|%", rune(text[0])) || strings.HasPrefix(text, "＝") || strings.HasPrefix(text, "＋") || strings.HasPrefix(text, "－") || strings.HasPrefix(text, "＠") {
		return "'" + text
	}
	return text
}

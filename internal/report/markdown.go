package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/polex-dev/polex/internal/plain"
)

// maxMarkdownRows keeps a job summary below GitHub's limit of 1 MiB.
const maxMarkdownRows = 500

// Markdown writes tables for a job summary. It cuts lists at 500 rows.
func Markdown(w io.Writer, v *Report) error {
	var b strings.Builder
	text := plain.Markdown
	fmt.Fprintf(&b, "## Exceptions\n\n%s\n\n%s\n", text(headline(v)), text(stateCounts(v)))
	if len(v.Findings) > 0 {
		b.WriteString("\n### To look at\n\n| about | what | kind |\n| --- | --- | --- |\n")
		for _, f := range v.Findings[:min(len(v.Findings), maxMarkdownRows)] {
			what := text(f.Message)
			if f.Hint != "" {
				what += "<br>" + text(f.Hint)
			}
			fmt.Fprintf(&b, "| %s | %s | %s |\n", text(about(f)), what, f.Kind)
		}
		more(&b, len(v.Findings))
	}
	if listed := v.listed(); len(listed) > 0 {
		b.WriteString("\n### Exceptions\n\nA ? marks values from Git or the file alone. All days are UTC.\n\n| state | exception | policy | asked by | reason | signed | until |\n| --- | --- | --- | --- | --- | --- | --- |\n")
		for _, e := range listed[:min(len(listed), maxMarkdownRows)] {
			c := cells(e)
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", text(c[0]), text(c[1]), text(c[2]), text(c[3]), text(claimed(e.Said.Reason, e.Verified)), text(c[4]), text(c[5]))
		}
		more(&b, len(listed))
	}
	if v.Totals.Of > 0 {
		fmt.Fprintf(&b, "\n%s\n", text(waited(v)))
	}
	if line := notSigned(v); line != "" {
		fmt.Fprintf(&b, "\n%s\n", text(line))
	}
	for _, c := range v.Totals.Often {
		fmt.Fprintf(&b, "\n%s\n", text(often(c)))
	}
	for _, s := range sums(v) {
		if len(s.counts) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n| %s | open | ever |\n| --- | ---: | ---: |\n", s.name)
		for _, c := range s.counts[:min(len(s.counts), 2*maxSums)] {
			fmt.Fprintf(&b, "| %s | %d | %d |\n", text(named(c.Name)), c.Open, c.Ever)
		}
	}
	if len(v.Chains) > 0 {
		b.WriteString("\n| renewed most | how long | renewals |\n| --- | --- | ---: |\n")
		for _, c := range v.Chains[:min(len(v.Chains), 2*maxSums)] {
			fmt.Fprintf(&b, "| %s | %s | %d |\n", text(renewedMost(c)), text(lasts(c)), c.Renewals)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func more(b *strings.Builder, n int) {
	if n > maxMarkdownRows {
		fmt.Fprintf(b, "\nand %d more\n", n-maxMarkdownRows)
	}
}

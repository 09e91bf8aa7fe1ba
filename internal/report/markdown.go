package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/polex-dev/polex/internal/plain"
)

// maxMarkdown is the maximum size of the rows in bytes. GitHub limits a job summary to 1 MiB.
const maxMarkdown = 900_000

// Markdown writes tables for a job summary, with the first fields for an auditor.
func Markdown(w io.Writer, v *Report) error {
	var b strings.Builder
	text := plain.Markdown
	fmt.Fprintf(&b, "## Exceptions\n\n%s\n\n%s\n\n| field | value |\n| --- | --- |\n", text(headline(v)), text(stateCounts(v)))
	for _, f := range reportFields {
		fmt.Fprintf(&b, "| %s | %s |\n", name(f.path), text(joined(f.values(v))))
	}
	more := 0
	row := func(cells []string) {
		if line := "| " + strings.Join(cells, " | ") + " |\n"; more == 0 && b.Len()+len(line) <= maxMarkdown {
			b.WriteString(line)
		} else {
			more++
		}
	}
	rest := func() {
		if more > 0 {
			fmt.Fprintf(&b, "\nand %d more, which JSON and CSV list\n", more)
		}
		more = 0
	}
	if len(v.Findings) > 0 {
		b.WriteString("\n### To look at\n\n| about | what | kind |\n| --- | --- | --- |\n")
		for _, f := range v.Findings {
			what := text(f.Message)
			if f.Hint != "" {
				what += "<br>" + text(f.Hint)
			}
			row([]string{text(about(f)), what, string(f.Kind)})
		}
		rest()
	}
	if listed := v.listed(); len(listed) > 0 {
		b.WriteString("\n### Exceptions by exempted namespace\n\nA ? marks values from Git or the file alone. All times are UTC.\n")
		for _, g := range groups(listed) {
			if more == 0 {
				head := listOf(fields[:asked], func(f field) string { return name(f.path) })
				fmt.Fprintf(&b, "\n#### %s\n\n| %s |\n|%s\n", text(where(g.Namespace)), strings.Join(head, " | "), strings.Repeat(" --- |", asked))
			}
			for _, m := range g.Members {
				row(listOf(fields[:asked], func(f field) string { return text(f.shown(m.Entry)) }))
			}
		}
		rest()
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

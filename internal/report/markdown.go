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
	m := &markdown{}
	fmt.Fprintf(m, "## Exceptions\n\n%s\n\n%s\n", plain.Markdown(headline(v)), plain.Markdown(stateCounts(v)))
	if len(v.Findings) > 0 {
		m.WriteString("\n### To look at\n")
		m.head("about", "what", "kind")
		for _, f := range v.Findings {
			what := f.Message
			if f.Hint != "" {
				what += " (hint: " + f.Hint + ")"
			}
			m.line(about(f), what, string(f.Kind))
		}
		m.rest()
	}
	if listed := v.listed(); len(listed) > 0 {
		m.WriteString("\n### Exceptions by exempted namespace\n\n" +
			"A ? marks values from Git or the file alone. All times are UTC.\n")
		for _, g := range groups(listed) {
			if m.more == 0 {
				fmt.Fprintf(m, "\n#### %s\n", plain.Markdown(g.Where()))
				m.head(listOf(fields[:auditorFields], name)...)
			}
			for _, member := range g.Members {
				if m.more > 0 {
					m.more++
					continue
				}
				m.line(listOf(fields[:auditorFields], rowOf(member.Entry).shown)...)
			}
		}
		m.rest()
	}
	for _, note := range notes(v) {
		fmt.Fprintf(m, "\n%s\n", plain.Markdown(note))
	}
	for _, s := range sums(v) {
		m.head(s.Heads...)
		for _, line := range s.Lines {
			m.line(line...)
		}
		m.more += s.More
		m.rest()
	}
	m.head("field", "value")
	for _, f := range v.facts() {
		m.line(f.Label, joined(f.Values))
	}
	_, err := io.WriteString(w, m.String())
	return err
}

// markdown builds tables.
type markdown struct {
	strings.Builder
	more int // lines that were left out
}

func (m *markdown) head(cells ...string) {
	fmt.Fprintf(m, "\n| %s |\n|%s\n", strings.Join(cells, " | "), strings.Repeat(" --- |", len(cells)))
}

func (m *markdown) line(cells ...string) {
	line := "| " + strings.Join(listOf(cells, plain.Markdown), " | ") + " |\n"
	if m.more > 0 || m.Len()+len(line) > maxMarkdown {
		m.more++
		return
	}
	m.WriteString(line)
}

// rest ends a table with the number of the lines that were left out.
func (m *markdown) rest() {
	if m.more > 0 {
		fmt.Fprintf(m, "\nand %d more, which JSON and CSV list\n", m.more)
	}
	m.more = 0
}

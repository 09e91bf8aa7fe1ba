package exception

import (
	"bytes"
	"strings"
)

// Text of errors about Helm templates. Helm templates are the files that are most often given in
// place of manifests.
const (
	helmTemplate = "not YAML: this looks like a Helm template"
	renderIt     = "render it first: helm template CHART"
)

// mistake replaces a message of the YAML library by the name of a common mistake that the line of
// the error shows. Any other error stays as it is.
func mistake(err *SyntaxError, line string) *SyntaxError {
	indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
	switch {
	case strings.Contains(line, "{{"):
		err.Message, err.Hint = helmTemplate, renderIt
	case strings.Contains(indent, "\t"):
		err.Message, err.Hint = "not valid YAML: a tab indents this line", "indent it with spaces"
	}
	return err
}

// textOfLine returns a line of a text, counted from 1, or "".
func textOfLine(text []byte, number int) string {
	for ; number > 1; number-- {
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return string(line)
}

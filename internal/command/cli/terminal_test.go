package cli

import "io"

// WriteToTerminal writes a report as text for a terminal.
func WriteToTerminal(w io.Writer, report *Report) error {
	return writeText(screen{Writer: w, terminal: true}, report)
}

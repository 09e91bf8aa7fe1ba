package cli

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/polex-dev/polex/internal/plain"
)

// screen is standard output, which may be a terminal. Files of --report are not.
type screen struct {
	io.Writer
	terminal bool
	width    int // of the terminal in characters
}

// The styles of text on a terminal, by ECMA-48 (SGR).
const (
	bold, red, yellow, green, cyan = "1", "1;31", "1;33", "32", "36"
)

// look is how text is shown on a writer.
type look struct {
	colored, lines bool
	width          int // of a line in characters, 0 for any
}

// lookOn returns plain text for files and pipes. NO_COLOR (no-color.org) removes colors only.
func lookOn(w io.Writer) look {
	s, ok := w.(screen)
	if !ok || !s.terminal {
		return look{}
	}
	return look{colored: os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb", lines: true, width: s.width}
}

func (l look) paint(style, text string) string {
	if !l.colored || text == "" {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

// wrapped breaks a text at spaces, into lines of at most width characters that begin with indent spaces.
// The first of them has begun already.
func wrapped(text string, indent, width int) string {
	if width <= 2*indent {
		return text
	}
	var b strings.Builder
	at := indent
	for i, word := range strings.Split(text, " ") {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case at+1+n > width:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			at = indent
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += n
	}
	return b.String()
}

// The longest line that is shown, in characters, and the most of a file that is read for it, in bytes.
const (
	maxShownLine = 160
	maxShownFile = 8 << 20
)

// excerpts are the lines of the documents below their results, which come sorted by file and line.
type excerpts struct {
	look
	files map[string]fs.FileInfo // regular files on disk that hold the documents

	path, rest string // the current file, and its text from a line on
	line       int
}

// of returns the line of a result with a marker below its column, or "" if this run has not read
// the document from a regular file.
func (e *excerpts) of(res Result) string {
	if !e.lines || res.Line == 0 || res.Column > maxShownLine {
		return ""
	}
	if e.path != res.File {
		e.path, e.line, e.rest = res.File, 1, readAgain(res.File, e.files[res.File])
	}
	for ; e.line < res.Line && e.rest != ""; e.line++ {
		_, e.rest, _ = strings.Cut(e.rest, "\n")
	}
	text, _, _ := strings.Cut(e.rest, "\n")
	text = strings.TrimSuffix(text, "\r")
	before := firstOf(text, res.Column-1)
	if e.rest == "" || utf8.RuneCountInString(before) < res.Column-1 {
		return ""
	}
	if start := firstOf(text, maxShownLine); start != text {
		text = start + "…"
	}
	return fmt.Sprintf("%s %s\n%s %s\n", e.paint(cyan, fmt.Sprintf("%5d |", res.Line)), plain.Line(text),
		e.paint(cyan, "      |"), strings.Repeat(" ", utf8.RuneCountInString(plain.Line(before)))+e.paint(red, "^"))
}

// firstOf returns the first n characters of a text.
func firstOf(text string, n int) string {
	end := 0
	for ; n > 0 && end < len(text); n-- {
		_, size := utf8.DecodeRuneInString(text[end:])
		end += size
	}
	return text[:end]
}

// readAgain returns the text of a file, or "" if it is not the file that was read. A pipe would
// block, and a link or a replaced file can lead to a secret.
func readAgain(path string, before fs.FileInfo) string {
	if before == nil {
		return ""
	}
	if info, err := os.Lstat(path); err != nil || !unchanged(before, info) {
		return ""
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may have been replaced by a pipe
	if err != nil {
		return ""
	}
	defer f.Close() //nolint:errcheck // only read
	if info, err := f.Stat(); err != nil || !unchanged(before, info) {
		return ""
	}
	text, err := io.ReadAll(io.LimitReader(f, maxShownFile))
	if err != nil {
		return ""
	}
	return string(text)
}

func unchanged(before, now fs.FileInfo) bool {
	return now.Mode().IsRegular() && os.SameFile(before, now) && before.Size() == now.Size() &&
		before.ModTime().Equal(now.ModTime())
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && f != nil && term.IsTerminal(int(f.Fd())) //nolint:gosec // a descriptor fits
}

// TerminalWidth returns the width of a terminal in characters, or 0 if a stream is not a terminal.
func TerminalWidth(stream any) int {
	if s, ok := stream.(screen); ok {
		return s.width
	}
	if !IsTerminal(stream) {
		return 0
	}
	width, _, err := term.GetSize(int(stream.(*os.File).Fd())) //nolint:gosec // a descriptor fits
	if err != nil {
		return 0
	}
	return width
}

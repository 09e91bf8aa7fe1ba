package commitmessage

import (
	"regexp"
	"strconv"
	"strings"
)

// The keys of the trailers.
const (
	Source   = "Polex-Source-Commit" // the commit with the pending exceptions
	LogIndex = "Polex-Log-Index"     // transparency log entry of a signed document
	Replaces = "Polex-Replaces"      // a replaced signed file and its log entries
	Pruned   = "Polex-Pruned"        // a file with removed expired documents, and their log entries
)

var plainPath = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*(?:/[A-Za-z0-9][A-Za-z0-9._-]*)*$`)

// Path returns a path in the form for a commit message. It quotes unusual paths: a file name can
// contain line breaks and could forge trailers.
func Path(name string) string {
	if plainPath.MatchString(name) {
		return name
	}
	return strconv.QuoteToASCII(name)
}

// maxLines is the maximum number of trailers read from one message.
const maxLines = 100_000

// Line is one trailer. The author of the commit chose its text.
type Line struct{ Key, Value string }

// Read returns the trailers of polex in the last paragraph of a commit message.
func Read(message string) []Line {
	message = strings.TrimRight(message, "\n")
	if at := strings.LastIndex(message, "\n\n"); at >= 0 {
		message = message[at+2:]
	}
	var lines []Line
	for text := range strings.Lines(message) {
		key, value, ok := strings.Cut(strings.TrimRight(text, "\r\n"), ": ")
		switch key {
		case Source, LogIndex, Replaces, Pruned:
			if ok && len(lines) < maxLines {
				lines = append(lines, Line{key, value})
			}
		}
	}
	return lines
}

// Names reports whether the value of the trailer begins with a path in the form of [Path].
func (l Line) Names(path string) bool {
	quoted, err := strconv.QuotedPrefix(l.Value)
	if err != nil {
		first, _, _ := strings.Cut(l.Value, " ")
		return first == path
	}
	name, err := strconv.Unquote(quoted)
	return err == nil && name == path
}

package commitmessage

import (
	"strconv"
	"strings"
)

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

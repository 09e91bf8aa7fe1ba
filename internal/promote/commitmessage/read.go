package commitmessage

import (
	"strconv"
	"strings"
)

// maxLines is how many trailers are read of one message.
const maxLines = 100_000

// Line is one trailer, as whoever wrote the commit says it.
type Line struct{ Key, Value string }

// Read returns the trailers of promotions and prunings that stand in the last
// paragraph of a commit's message.
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

// Names reports whether the trailer's value begins with a path, as [Path] writes
// it.
func (l Line) Names(path string) bool {
	quoted, err := strconv.QuotedPrefix(l.Value)
	if err != nil {
		first, _, _ := strings.Cut(l.Value, " ")
		return first == path
	}
	name, err := strconv.Unquote(quoted)
	return err == nil && name == path
}

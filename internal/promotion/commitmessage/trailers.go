package commitmessage

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
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

// Line is one trailer. The author of the commit chose its text.
type Line struct{ Key, Value string }

// Read returns the trailers of polex in the last paragraph of a commit message.
func Read(message string) []Line {
	const maxLines = 100_000 // the maximum number of trailers read from one message
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

// LogEntry is the transparency log entry of the first signature of a document.
type LogEntry struct {
	Index int64
	// IntegratedTime is in seconds since 1970, or 0 if the log states none.
	IntegratedTime int64
}

// Files returns the trailer of a file with the log entries of its documents: "Polex-Replaces: signed/a.yaml
// 123". It skips a document without a readable signature.
func Files(key, path string, docs ...*exception.Document) string {
	line := key + ": " + Path(path)
	for _, doc := range docs {
		if entry, err := LogEntryOf(doc); err == nil && entry != nil {
			line += fmt.Sprintf(" %d", entry.Index)
		}
	}
	return line + "\n"
}

// LogEntryOf returns the log entry that a signed document names. It does not verify the entry. It
// returns nil for an unsigned document or one without a log entry.
func LogEntryOf(doc *exception.Document) (*LogEntry, error) {
	s, err := seal.Read(doc)
	if errors.Is(err, seal.ErrUnsigned) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	first := s.Signatures[0]
	if first.Bundle != nil {
		return &LogEntry{Index: first.Bundle.Payload.LogIndex, IntegratedTime: first.Bundle.Payload.IntegratedTime}, nil
	}
	if first.BundleV03 == nil {
		return nil, nil
	}
	var b protobundle.Bundle
	if err := protojson.Unmarshal(first.BundleV03, &b); err != nil {
		return nil, fmt.Errorf("read bundle: %w", err)
	}
	for _, entry := range b.GetVerificationMaterial().GetTlogEntries() {
		return &LogEntry{Index: entry.GetLogIndex(), IntegratedTime: entry.GetIntegratedTime()}, nil
	}
	return nil, nil
}

package commitmessage

import (
	"errors"
	"fmt"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
)

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

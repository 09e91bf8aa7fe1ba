package commitmessage

import (
	"errors"
	"fmt"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
)

// LogEntry is where the log has a seal's first signature.
type LogEntry struct {
	Index int64
	// IntegratedTime is in seconds since 1970, and 0 where the log says none.
	IntegratedTime int64
}

// LogEntryOf returns where the log has a sealed document, as the seal says it:
// verifying that is somebody else's. It is nil for a document without a seal, or
// one that is in no log.
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

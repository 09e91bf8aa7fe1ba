package cli

import (
	"bytes"
	"fmt"
	"io"
)

// Stream is a stream of YAML documents that is held back until it is known that
// all of it may be printed.
type Stream struct {
	Limit int // bytes

	held bytes.Buffer
}

// Add adds a document. It returns an error when there is no room for it.
func (s *Stream) Add(document []byte) error {
	if s.held.Len()+len(document) > s.Limit {
		return fmt.Errorf("what would be printed is larger than %d MiB", s.Limit>>20)
	}
	if s.held.Len() > 0 {
		s.held.WriteString("---\n")
	}
	s.held.Write(document)
	if !bytes.HasSuffix(document, []byte("\n")) {
		s.held.WriteByte('\n')
	}
	return nil
}

// WriteTo writes everything that was added.
func (s *Stream) WriteTo(w io.Writer) (int64, error) {
	n, err := s.held.WriteTo(w)
	if err != nil {
		err = fmt.Errorf("write documents: %w", err)
	}
	return n, err
}

package exception

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Stream collects documents as the bytes of one stream, until all of them may be written out. The
// zero value holds up to [MaxStream] bytes.
type Stream struct {
	Limit int // bytes; 0 for [MaxStream]

	held bytes.Buffer
	json bool
	sums [][sha256.Size]byte // of each document's JSON
}

// Add appends a document with all its bytes. It returns an error if the stream would exceed its
// limit or mix YAML and JSON.
func (s *Stream) Add(doc *Document) error {
	switch {
	case doc.source == nil:
		return errors.New("the document has no source to write")
	case len(s.sums) == 0:
		s.json = doc.json
	case s.json != doc.json:
		return errors.New("YAML and JSON cannot be written as one stream")
	case doc.json:
		return errors.New("several JSON documents cannot be written as one stream, of which kustomize reads only the " +
			"first")
	}
	limit := cmp.Or(s.Limit, MaxStream)
	if s.held.Len()+len(doc.source) > limit {
		return fmt.Errorf("the output is larger than %d MiB", limit>>20)
	}
	sum, err := doc.sum()
	if err != nil {
		return err
	}
	s.sums = append(s.sums, sum)
	if s.held.Len() > 0 && !doc.json && !bytes.HasPrefix(doc.source, []byte("---")) {
		s.held.WriteString("---\n")
	}
	s.held.Write(doc.source)
	if !bytes.HasSuffix(doc.source, []byte("\n")) {
		s.held.WriteByte('\n')
	}
	return nil
}

// Bytes returns the stream. It parses the stream first, and returns an error if that gives other
// documents than the added ones in their order.
func (s *Stream) Bytes() ([]byte, error) {
	r := NewReader(bytes.NewReader(s.held.Bytes()), "")
	for i := 0; ; i++ {
		doc, err := r.Next()
		if errors.Is(err, io.EOF) && i == len(s.sums) {
			return s.held.Bytes(), nil
		}
		if err != nil {
			return nil, fmt.Errorf("the written text reads back differently: document %d: %w", i+1, err)
		}
		sum, err := doc.sum()
		if err != nil {
			return nil, err
		}
		if i >= len(s.sums) || sum != s.sums[i] {
			return nil, fmt.Errorf("the written text reads back differently: document %d is another one", i+1)
		}
	}
}

// sum returns the SHA-256 of the document's JSON, with sorted keys.
func (d *Document) sum() ([sha256.Size]byte, error) {
	raw, err := json.Marshal(d.root.object())
	if err != nil {
		return [sha256.Size]byte{}, fmt.Errorf("write JSON: %w", err)
	}
	return sha256.Sum256(raw), nil
}

// Join returns documents as the bytes of one file, see [Stream.Bytes].
func Join(docs []*Document) ([]byte, error) {
	var s Stream
	for _, doc := range docs {
		if err := s.Add(doc); err != nil {
			return nil, err
		}
	}
	return s.Bytes()
}

package seal

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"

	"github.com/polex-dev/polex/pkg/exception"
)

// Message writes what is signed for a document: its canonical YAML. A document
// that carries a seal already, or that would not be read back as the very same
// values, is an error.
func Message(doc *exception.Document) ([]byte, error) {
	object := doc.Object()
	if metadata, ok := object["metadata"].(map[string]any); ok {
		if annotations, ok := metadata["annotations"].(map[string]any); ok {
			for key := range annotations {
				if len(key) >= len(Prefix) && key[:len(Prefix)] == Prefix {
					return nil, fmt.Errorf("it carries the annotation %q already", key)
				}
			}
		}
	}
	message, err := exception.Canonical(object)
	if err != nil {
		return nil, err
	}
	back, err := exception.Parse(message, "message")
	if err != nil {
		return nil, fmt.Errorf("its canonical form cannot be read back: %w", err)
	}
	if !reflect.DeepEqual(back.Object(), object) {
		for _, d := range Compare(back, doc, 1) {
			return nil, fmt.Errorf("%s would be read back as %s: write it the way it is stored", d.Path, d.Old())
		}
		return nil, errors.New("its canonical form reads back differently")
	}
	return message, nil
}

// gzipMagic begins a message that is packed once more (RFC 1952, 2.3.1). No YAML
// begins with it.
var gzipMagic = []byte{0x1f, 0x8b}

// CheckForm refuses a message that is an archive. It looks at its first bytes alone, and
// so can come before the signatures, with an error that helps.
func CheckForm(message []byte) error {
	if bytes.HasPrefix(message, gzipMagic) {
		return errors.New("it is an archive, as kubectl-sigstore makes with --tarball=yes and older ones always: sign with --tarball=no")
	}
	return nil
}

// ParseMessage reads a seal's message as strictly as any document: one
// document, and no seal inside of it.
func ParseMessage(message []byte) (*exception.Document, error) {
	if err := CheckForm(message); err != nil {
		return nil, err
	}
	doc, err := exception.Parse(message, "message")
	if err != nil {
		return nil, err
	}
	value, _ := doc.Lookup("metadata", "annotations")
	annotations, _ := value.(map[string]any)
	for key := range annotations {
		if len(key) >= len(Prefix) && key[:len(Prefix)] == Prefix {
			return nil, fmt.Errorf("the message carries the annotation %q of a seal itself", key)
		}
	}
	return doc, nil
}

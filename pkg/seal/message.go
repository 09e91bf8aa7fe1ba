package seal

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/polex-dev/polex/pkg/exception"
)

// Message returns the bytes to sign for a document: its canonical YAML. It returns an error if the
// document has signature annotations, or if the YAML would not read as the same values.
func Message(doc *exception.Document) ([]byte, error) {
	if key := signatureKey(doc); key != "" {
		return nil, fmt.Errorf("it already has the annotation %q", key)
	}
	object := doc.Object()
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

// gzipMagic is the start of a compressed message (RFC 1952, 2.3.1). YAML never begins with it.
var gzipMagic = []byte{0x1f, 0x8b}

// CheckForm returns an error for a message that is an archive, with advice. It reads only the first
// bytes, so it is safe before the signatures are verified.
func CheckForm(message []byte) error {
	if bytes.HasPrefix(message, gzipMagic) {
		return errors.New("it is an archive, which kubectl-sigstore makes with --tarball=yes, and its older releases " +
			"always: sign with --tarball=no")
	}
	return nil
}

// ParseMessage parses a signed message as strictly as any document that is not deployed, see
// [exception.ParseUndeployed]. The message must be one document without signature annotations.
func ParseMessage(message []byte) (*exception.Document, error) {
	if err := CheckForm(message); err != nil {
		return nil, err
	}
	doc, err := exception.ParseUndeployed(message, "message")
	if err != nil {
		return nil, err
	}
	if key := signatureKey(doc); key != "" {
		return nil, fmt.Errorf("the message itself has the signature annotation %q", key)
	}
	return doc, nil
}

// signatureKey returns the first key of a signature annotation, also of one that is not known, or "".
func signatureKey(doc *exception.Document) string {
	value, _ := doc.Lookup("metadata", "annotations")
	annotations, _ := value.(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		if strings.HasPrefix(key, Prefix) {
			return key
		}
	}
	return ""
}

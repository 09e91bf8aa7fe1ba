package seal

import (
	"bytes"
	"encoding/pem"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	kjson "sigs.k8s.io/json"

	"github.com/polex-dev/polex/pkg/exception"
)

// Seal is what a document's annotations hold, decoded and not yet believed.
type Seal struct {
	Message    []byte // the signed bytes
	Signatures []Signature
}

// Signature is one signature set of a seal.
type Signature struct {
	Signature   []byte       // over Seal.Message
	Certificate []byte       // DER; nil for a signature by a public key
	Bundle      *RekorBundle // nil where there is none
	BundleV03   []byte       // JSON of a Sigstore bundle; nil where there is none
}

// RekorBundle is cosign's form of a log entry with the log's promise.
type RekorBundle struct {
	SignedEntryTimestamp []byte       `json:"SignedEntryTimestamp"`
	Payload              RekorPayload `json:"Payload"`
}

// RekorPayload is what the promise covers.
type RekorPayload struct {
	Body           string `json:"body"`           // base64 of the canonical entry
	IntegratedTime int64  `json:"integratedTime"` // seconds since 1970
	LogIndex       int64  `json:"logIndex"`
	LogID          string `json:"logID"` // hex of the SHA-256 of the log's key
}

// ErrUnsigned is returned for a document without any annotation of a seal.
var ErrUnsigned = errors.New("it carries no signature")

// FormatError says which annotation of a seal cannot be read, and why.
type FormatError struct {
	Path    exception.Path
	Message string
}

// Error returns the annotation and the message.
func (e *FormatError) Error() string { return fmt.Sprintf("%s: %s", e.Path, e.Message) }

func formatError(key, format string, args ...any) error {
	return &FormatError{Path: exception.Path{"metadata", "annotations", key}, Message: fmt.Sprintf(format, args...)}
}

// Read decodes the seal of a document. It returns [ErrUnsigned] when there is
// none and a *[FormatError] when any part of it is missing, superfluous, too
// large or not what its name says.
func Read(doc *exception.Document) (*Seal, error) {
	s, spelling, err := Open(doc)
	if err == nil {
		err = spelling()
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Open is [Read] in two parts. What it leaves out is spelling, which returns a
// *[FormatError] when a value of the seal could be written in another way, so that a
// flipped bit would change nothing. That unpacks everything once more: ask for it once
// the signatures hold.
func Open(doc *exception.Document) (s *Seal, spelling func() error, err error) {
	value, _ := doc.Lookup("metadata", "annotations")
	annotations, _ := value.(map[string]any)
	parts, err := collect(annotations)
	if err != nil {
		return nil, nil, err
	}
	if len(parts) == 0 {
		return nil, nil, ErrUnsigned
	}
	packed, ok := parts[partMessage.key(0)]
	if !ok {
		return nil, nil, formatError(partMessage.key(0), "the signed message is missing")
	}
	var u unpacker
	message, err := u.unpack(partMessage.key(0), packed, maxMessage)
	if err != nil {
		return nil, nil, formatError(partMessage.key(0), "%s", err)
	}
	sets, err := countSets(parts)
	if err != nil {
		return nil, nil, err
	}
	s = &Seal{Message: message}
	for i := range sets {
		signature, err := u.readSet(parts, i)
		if err != nil {
			return nil, nil, err
		}
		s.Signatures = append(s.Signatures, signature)
	}
	return s, u.checkSpelling, nil
}

// collect returns the annotations of the seal by key. Whatever else stands
// under the prefix is refused, for it is nobody's to leave out of a comparison.
func collect(annotations map[string]any) (map[string]string, error) {
	parts := map[string]string{}
	for key, value := range annotations {
		if len(key) < len(Prefix) || key[:len(Prefix)] != Prefix {
			continue
		}
		_, index, known := parseKey(key)
		if !known {
			return nil, formatError(key, "this annotation is not part of a seal")
		}
		if index >= MaxSignatures {
			return nil, formatError(key, "a seal carries at most %d signatures", MaxSignatures)
		}
		text, ok := value.(string)
		if !ok {
			return nil, formatError(key, "the annotation is not text")
		}
		parts[key] = text
	}
	return parts, nil
}

// countSets returns how many signatures there are: every set from 0 on without
// a gap, each with its signature.
func countSets(parts map[string]string) (int, error) {
	sets := 0
	for sets < MaxSignatures {
		if _, ok := parts[partSignature.key(sets)]; !ok {
			break
		}
		sets++
	}
	if sets == 0 {
		return 0, formatError(partSignature.key(0), "the signature is missing")
	}
	for key := range parts {
		if p, index, _ := parseKey(key); p != partMessage && index >= sets {
			return 0, formatError(key, "it belongs to signature %d, which is missing", index)
		}
	}
	return sets, nil
}

func (u *unpacker) readSet(parts map[string]string, index int) (Signature, error) {
	var s Signature
	key := partSignature.key(index)
	raw, err := decodeBase64(parts[key], maxSignature)
	if err != nil {
		return s, formatError(key, "%s", err)
	}
	if len(raw) == 0 {
		return s, formatError(key, "the signature is empty")
	}
	s.Signature = raw

	key = partCertificate.key(index)
	if text, ok := parts[key]; ok {
		if s.Certificate, err = u.certificate(key, text); err != nil {
			return s, formatError(key, "%s", err)
		}
	}
	key = partBundle.key(index)
	if text, ok := parts[key]; ok {
		if s.Bundle, err = u.rekorBundle(key, text); err != nil {
			return s, formatError(key, "%s", err)
		}
	}
	key = partBundleV03.key(index)
	if text, ok := parts[key]; ok {
		if s.BundleV03, err = u.unpack(key, text, maxBundle); err != nil {
			return s, formatError(key, "%s", err)
		}
	}
	return s, nil
}

// certificate takes exactly one certificate: a chain's other members come
// from the trusted root and nowhere else.
func (u *unpacker) certificate(key, text string) ([]byte, error) {
	raw, err := u.unpack(key, text, maxCertificate)
	if err != nil {
		return nil, err
	}
	block, rest := pem.Decode(raw)
	switch {
	// The decoder would skip to the first block that it can read, and another
	// reader might take another one.
	case !bytes.HasPrefix(raw, []byte("-----BEGIN ")):
		return nil, errors.New("not a PEM certificate from its first byte on")
	case bytes.Count(raw, []byte("-----BEGIN ")) > 1:
		return nil, errors.New("more than one certificate")
	case block == nil || block.Type != "CERTIFICATE":
		return nil, errors.New("not a PEM certificate")
	case len(block.Headers) > 0:
		return nil, errors.New("PEM headers are not allowed")
	}
	for _, c := range rest {
		if c != '\n' && c != '\r' && c != ' ' {
			return nil, errors.New("more than one certificate")
		}
	}
	return block.Bytes, nil
}

// integer is an integer that is not negative. Other readers do not agree on what 0.0,
// 0e0 and -0 are.
type integer int64

var integerForm = regexp.MustCompile(`^(0|[1-9][0-9]*)$`)

// UnmarshalJSON takes an integer in the one form that it is written in.
func (i *integer) UnmarshalJSON(raw []byte) error {
	if !integerForm.Match(raw) {
		return errors.New("not written as an integer")
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	*i = integer(n)
	return err
}

// rekorBundle reads cosign's form strictly: keys as they are, each once, and no other.
func (u *unpacker) rekorBundle(key, text string) (*RekorBundle, error) {
	raw, err := u.unpack(key, text, maxRekorBundle)
	if err != nil {
		return nil, err
	}
	var b struct {
		SignedEntryTimestamp []byte
		Payload              struct {
			Body           string  `json:"body"`
			IntegratedTime integer `json:"integratedTime"`
			LogIndex       integer `json:"logIndex"`
			LogID          string  `json:"logID"`
		}
	}
	if strict, err := kjson.UnmarshalStrict(raw, &b); err != nil || len(strict) > 0 {
		return nil, errors.New("not a JSON object with the fields of a Rekor bundle, each once, and integers written as such")
	}
	p := b.Payload
	if len(b.SignedEntryTimestamp) == 0 || p.Body == "" || p.LogID == "" || p.IntegratedTime == 0 {
		return nil, errors.New("the Rekor bundle is not complete")
	}
	return &RekorBundle{b.SignedEntryTimestamp, RekorPayload{p.Body, int64(p.IntegratedTime), int64(p.LogIndex), p.LogID}}, nil
}

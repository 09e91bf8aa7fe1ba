package seal

import (
	"bytes"
	"encoding/pem"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	kjson "sigs.k8s.io/json"

	"github.com/polex-dev/polex/pkg/exception"
)

// Seal is the decoded content of the signature annotations, before any verification.
type Seal struct {
	Message    []byte // the signed bytes
	Signatures []Signature
}

// Signature is one signature with its certificate and evidence.
type Signature struct {
	Signature   []byte       // over Seal.Message
	Certificate []byte       // DER; nil for a signature by a public key
	Bundle      *RekorBundle // nil if absent
	BundleV03   []byte       // JSON of a Sigstore bundle; nil if absent
}

// RekorBundle is a log entry with its inclusion promise, in cosign's form.
type RekorBundle struct {
	SignedEntryTimestamp []byte       `json:"SignedEntryTimestamp"`
	Payload              RekorPayload `json:"Payload"`
}

// RekorPayload is the part of a [RekorBundle] that the inclusion promise covers.
type RekorPayload struct {
	Body           string `json:"body"`           // base64 of the canonical entry
	IntegratedTime int64  `json:"integratedTime"` // seconds since 1970
	LogIndex       int64  `json:"logIndex"`
	LogID          string `json:"logID"` // hex of the SHA-256 of the log's key
}

// ErrUnsigned is the error for a document without signature annotations.
var ErrUnsigned = errors.New("it has no signature")

// FormatError is an invalid signature annotation, with the problem.
type FormatError struct {
	Path    exception.Path
	Message string
}

// Error returns the annotation and the message.
func (e *FormatError) Error() string { return fmt.Sprintf("%s: %s", e.Path, e.Message) }

func formatError(key, format string, args ...any) error {
	return &FormatError{Path: exception.Path{"metadata", "annotations", key}, Message: fmt.Sprintf(format, args...)}
}

// Read decodes the signature annotations of a document. It returns [ErrUnsigned] if there are none,
// and a *[FormatError] if one is missing, unexpected, too large or invalid.
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

// Open is [Read] without one check, which spelling makes. spelling returns a *[FormatError] if a
// value has a second valid encoding, so that a flipped bit would not be noticed. It decodes
// everything again: call it after the signatures are verified.
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

// collect returns the signature annotations by key. It rejects any other annotation with the
// prefix: comparing object and message ignores no others.
func collect(annotations map[string]any) (map[string]string, error) {
	parts := map[string]string{}
	for key, value := range annotations {
		if !strings.HasPrefix(key, Prefix) {
			continue
		}
		_, index, known := parseKey(key)
		if !known {
			return nil, formatError(key, "this is not a signature annotation")
		}
		if index >= MaxSignatures {
			return nil, formatError(key, "a document has at most %d signatures", MaxSignatures)
		}
		text, ok := value.(string)
		if !ok {
			return nil, formatError(key, "the annotation is not text")
		}
		parts[key] = text
	}
	return parts, nil
}

// countSets returns the number of signatures. They are numbered from 0 without a gap.
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

// certificate reads exactly one certificate. The other certificates of its chain come from the
// trusted root only.
func (u *unpacker) certificate(key, text string) ([]byte, error) {
	raw, err := u.unpack(key, text, maxCertificate)
	if err != nil {
		return nil, err
	}
	block, rest := pem.Decode(raw)
	switch {
	// The decoder would skip to the first readable block, and another reader could choose another
	// one.
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

// integer is an integer that is not negative. Readers disagree about 0.0, 0e0 and -0.
type integer int64

var integerForm = regexp.MustCompile(`^(0|[1-9][0-9]*)$`)

// UnmarshalJSON accepts an integer in its usual form only.
func (i *integer) UnmarshalJSON(raw []byte) error {
	if !integerForm.Match(raw) {
		return errors.New("not written as an integer")
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	*i = integer(n)
	return err
}

// rekorBundle reads cosign's form strictly: each key once, with exact letter case, and no other
// keys.
func (u *unpacker) rekorBundle(key, text string) (*RekorBundle, error) {
	raw, err := u.unpack(key, text, maxRekorBundle)
	if err != nil {
		return nil, err
	}
	if exception.TooManyNodes(raw, maxRekorBundleNodes) {
		return nil, fmt.Errorf("a Rekor bundle of more than %d values", maxRekorBundleNodes)
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
		return nil, errors.New("not a JSON object with the fields of a Rekor bundle, each once, and integers written " +
			"as such")
	}
	p := b.Payload
	if len(b.SignedEntryTimestamp) == 0 || p.Body == "" || p.LogID == "" || p.IntegratedTime == 0 {
		return nil, errors.New("the Rekor bundle is not complete")
	}
	return &RekorBundle{b.SignedEntryTimestamp,
		RekorPayload{p.Body, int64(p.IntegratedTime), int64(p.LogIndex), p.LogID}}, nil
}

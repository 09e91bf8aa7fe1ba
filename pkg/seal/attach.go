package seal

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"strconv"
	"strings"

	"github.com/polex-dev/polex/pkg/exception"
)

// Attach returns the document with the signature annotations of the seal, for 1 to [MaxSignatures]
// signatures.
func Attach(doc *exception.Document, s *Seal) (*exception.Document, error) {
	if len(s.Signatures) == 0 || len(s.Signatures) > MaxSignatures {
		return nil, fmt.Errorf("a document has 1 to %d signatures, not %d", MaxSignatures, len(s.Signatures))
	}
	var additions []exception.Addition
	add := func(p part, index int, value string) {
		additions = append(additions, exception.Addition{
			Path: exception.Path{"metadata", "annotations", p.key(index)}, Value: value})
	}
	var gzipped packer
	message, err := gzipped.pack(s.Message)
	if err != nil {
		return nil, err
	}
	add(partMessage, 0, message)
	for i, sig := range s.Signatures {
		if err := gzipped.attachSet(add, i, sig); err != nil {
			return nil, err
		}
	}
	return doc.Add(additions...)
}

func (p *packer) attachSet(add func(part, int, string), index int, sig Signature) error {
	add(partSignature, index, base64.StdEncoding.EncodeToString(sig.Signature))
	if sig.Certificate != nil {
		text, err := p.pack(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: sig.Certificate}))
		if err != nil {
			return err
		}
		add(partCertificate, index, text)
	}
	if sig.Bundle != nil {
		raw, err := json.Marshal(sig.Bundle)
		if err != nil {
			return fmt.Errorf("write Rekor bundle: %w", err)
		}
		text, err := p.pack(raw)
		if err != nil {
			return err
		}
		add(partBundle, index, text)
	}
	if sig.BundleV03 != nil {
		text, err := p.pack(sig.BundleV03)
		if err != nil {
			return err
		}
		add(partBundleV03, index, text)
	}
	return nil
}

// Prefix is the prefix of all signature annotations. No other annotation may have it.
const Prefix = "cosign.sigstore.dev/"

// MaxSignatures is the maximum number of signatures of one document.
const MaxSignatures = 8

// part is the kind of a signature annotation.
type part string

const (
	partMessage     part = "message"
	partSignature   part = "signature"
	partCertificate part = "certificate"
	partBundle      part = "bundle"
	partBundleV03   part = "bundle.v0.3"
)

func (p part) key(index int) string {
	if index == 0 {
		return Prefix + string(p)
	}
	return Prefix + string(p) + "_" + strconv.Itoa(index)
}

// parseKey parses an annotation's key. It accepts only the spellings that the method key writes,
// not "signature_0", "signature_01" or "message_1".
func parseKey(key string) (p part, index int, known bool) {
	name, ok := strings.CutPrefix(key, Prefix)
	if !ok {
		return "", 0, false
	}
	base, suffix, numbered := strings.Cut(name, "_")
	if numbered {
		n, err := strconv.Atoi(suffix)
		if err != nil || n < 1 || strconv.Itoa(n) != suffix {
			return "", 0, false
		}
		index = n
	}
	switch p = part(base); p {
	case partMessage:
		return p, index, !numbered
	case partSignature, partCertificate, partBundle, partBundleV03:
		return p, index, true
	default:
		return "", 0, false
	}
}

// IsKey reports whether an annotation's key is one of a signature.
func IsKey(key string) bool {
	_, index, known := parseKey(key)
	return known && index < MaxSignatures
}

package seal

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"

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

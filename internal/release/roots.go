package main

import (
	"bytes"
	"encoding/pem"
	"os"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// roots writes Mozilla's certificate authorities, as Go publishes them, for images without a
// distribution. It leaves out an authority that Mozilla trusts with a condition, because a PEM file
// cannot express one.
func roots(to string) error {
	var text bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		if err := pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return err
		}
	}
	return os.WriteFile(to, text.Bytes(), 0o644)
}

package main

import (
	"bytes"
	"encoding/pem"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// roots returns Mozilla's certificate authorities, as Go publishes them, for images without a
// distribution. It leaves out an authority that Mozilla trusts with a condition, because a PEM file
// cannot express one.
func roots() []byte {
	var text bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			check(pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		}
	}
	return text.Bytes()
}

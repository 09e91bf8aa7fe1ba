package trust

import (
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/sigstore/fulcio/pkg/certificate"

	"github.com/polex-dev/polex/pkg/trust/policyfile"
)

// fieldOf returns the field of [certificate.Extensions] with a claim. A test compares all of them.
func fieldOf(claim string) string {
	if claim == "tokenSubject" {
		return "Subject"
	}
	return strings.ToUpper(claim[:1]) + claim[1:]
}

// ClaimNames returns the names of the claims that a policy can require, sorted.
func ClaimNames() []string { return slices.Clone(policyfile.Claims) }

// fulcioArc is the prefix of Fulcio's extensions. Below it, known are the last numbers of those that
// [certificate.ParseExtensions] reads; 7 is a type of subject alternative name.
var (
	fulcioArc = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1}
	known     = certificate.OIDTokenSubject[len(fulcioArc)]
)

// Claims returns the non-empty extensions of a Fulcio certificate by the names of [ClaimNames]. An
// extension of Fulcio that has no name yet has its number, such as 1.3.6.1.4.1.57264.1.25, and a
// value that is not a text is in hexadecimal digits. No policy can require it.
func Claims(extensions []pkix.Extension) (map[string]string, error) {
	parsed, err := certificate.ParseExtensions(extensions)
	if err != nil {
		return nil, fmt.Errorf("read the extensions of the certificate: %w", err)
	}
	claims := map[string]string{}
	fields := reflect.ValueOf(parsed)
	for _, name := range policyfile.Claims {
		if value := fields.FieldByName(fieldOf(name)).String(); value != "" {
			claims[name] = value
		}
	}
	for _, e := range extensions {
		n := len(fulcioArc)
		if len(e.Id) <= n || !slices.Equal(e.Id[:n], fulcioArc) || len(e.Id) == n+1 && e.Id[n] <= known {
			continue
		}
		var text string
		if certificate.ParseDERString(e.Value, &text) != nil {
			text = hex.EncodeToString(e.Value)
		}
		claims[e.Id.String()] = text
	}
	return claims, nil
}

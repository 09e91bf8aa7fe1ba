package trust_test

import (
	"crypto/x509/pkix"
	"encoding/asn1"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/sigstore/fulcio/pkg/certificate"

	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/test/expect"
)

// TestClaimsOf: every extension of Fulcio has its claim, and one without a name has its number.
func TestClaimsOf(t *testing.T) {
	rendered, err := certificate.Extensions{
		Issuer: "https://accounts.example", BuildTrigger: "push", DeploymentEnvironment: "signing", Subject: "repo:acme/exceptions:environment:signing",
	}.Render()
	expect.OK(t, err)
	text := expect.Value(asn1.Marshal("new"))(t)
	arc := func(numbers ...int) asn1.ObjectIdentifier {
		return append(asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1}, numbers...)
	}
	got, err := trust.Claims(append(rendered, pkix.Extension{Id: arc(25), Value: text}, pkix.Extension{Id: arc(26), Value: []byte{0xff, 0x00}},
		pkix.Extension{Id: arc(2, 1), Value: text}, pkix.Extension{Id: asn1.ObjectIdentifier{2, 5, 29, 15}, Value: text}))
	expect.OK(t, err)
	want := map[string]string{
		"buildTrigger": "push", "deploymentEnvironment": "signing", "tokenSubject": "repo:acme/exceptions:environment:signing",
		"1.3.6.1.4.1.57264.1.25": "new", "1.3.6.1.4.1.57264.1.26": "ff00", "1.3.6.1.4.1.57264.1.2.1": "new",
	}
	expect.Equal(t, "claims", want, got)
	// An extension that cannot be read counts.
	expect.Failure(trust.Claims([]pkix.Extension{{Id: arc(23), Value: []byte("signing")}}))(t)
}

// TestClaims: every claim that a policy can require is read from a certificate, and no other.
func TestClaims(t *testing.T) {
	var all certificate.Extensions
	value := reflect.ValueOf(&all).Elem()
	for i := range value.NumField() {
		value.Field(i).SetString("x")
	}
	rendered := expect.Value(all.Render())(t)
	claims := expect.Value(trust.Claims(rendered))(t)
	expect.Equal(t, "result", trust.ClaimNames(), slices.Sorted(maps.Keys(claims)))
}

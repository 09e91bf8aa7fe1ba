package trust_test

import (
	"fmt"
	"log"

	"github.com/polex-dev/polex/pkg/trust"
)

// A tool reads a trust policy and checks an identity against its authorities.
func ExampleFromFile() {
	policy, err := trust.FromFile("testdata/trust.yaml")
	if err != nil {
		log.Fatal(err)
	}
	stranger := trust.Identity{
		Issuer: "https://token.actions.githubusercontent.com", Type: "uri",
		Subject: "https://github.com/acme/exceptions/.github/workflows/merge.yaml@refs/heads/feature",
	}
	for _, a := range policy.Authorities() {
		is, why := a.Matches(stranger)
		fmt.Println(a.Name(), is, why)
	}
	// Output:
	// main false the subject of the certificate is "https://github.com/acme/exceptions/.github/workflows/merge.yaml@refs/heads/feature", not "https://github.com/acme/exceptions/.github/workflows/merge.yaml@refs/heads/main"
}

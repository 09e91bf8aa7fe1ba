package trust_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/polex-dev/polex/pkg/trust"
)

// A tool reads a trust policy and lists the authorities that it names.
func ExampleFromFile() {
	dir, err := os.MkdirTemp("", "polex")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // temporary
	path := filepath.Join(dir, "trust.yaml")
	if err := os.WriteFile(path, []byte(`apiVersion: polex.dev/v1alpha1
kind: TrustPolicy
authorities:
  - name: main
    issuer: https://token.actions.githubusercontent.com
    subject: https://github.com/acme/exceptions/.github/workflows/sign.yaml@refs/heads/main
`), 0o600); err != nil {
		log.Fatal(err)
	}
	policy, err := trust.FromFile(path)
	if err != nil {
		log.Fatal(err)
	}
	stranger := trust.Identity{
		Issuer: "https://token.actions.githubusercontent.com", Type: "uri",
		Subject: "https://github.com/acme/exceptions/.github/workflows/sign.yaml@refs/heads/feature",
	}
	for _, a := range policy.Authorities() {
		is, why := a.Matches(stranger)
		fmt.Println(a.Name(), is, why)
	}
	// Output:
	// main false its subject is "https://github.com/acme/exceptions/.github/workflows/sign.yaml@refs/heads/feature", not "https://github.com/acme/exceptions/.github/workflows/sign.yaml@refs/heads/main"
}

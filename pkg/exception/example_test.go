package exception_test

import (
	"fmt"
	"log"

	"github.com/polex-dev/polex/pkg/exception"
)

// A tool reads one exception, and prints the position of its policy's name.
func Example() {
	const text = `apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: web, namespace: team-a}
spec:
  exceptions:
    - policyName: require-probes
      ruleNames: [check]
`
	doc, err := exception.Parse([]byte(text), "web.yaml")
	if err != nil {
		log.Fatal(err)
	}
	path := exception.Path{"spec", "exceptions", 0, "policyName"}
	fmt.Println(doc.Identity())
	fmt.Println(doc.PositionOf(path), doc.Text(path...))

	// Two readers would read this as two different values.
	_, err = exception.Parse([]byte("apiVersion: kyverno.io/v2\nkind: on\n"), "web.yaml")
	fmt.Println(err)

	// Output:
	// PolicyException.kyverno.io team-a/web
	// web.yaml:6:7 require-probes
	// web.yaml:2:7: "on" is a boolean in YAML 1.1 and text in YAML 1.2
}

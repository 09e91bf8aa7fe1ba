package shape_test

import (
	"fmt"
	"log"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
)

// A check in a pull request prints the findings of an exception.
func Example() {
	const text = `apiVersion: kyverno.io/v2
kind: PolicyException
metadata:
  name: web
  namespace: team-a
  annotations: {polex.dev/expires-in: 7d}
spec:
  exceptions:
    - policyName: "*"
      ruleNames: [check]
  match:
    any:
      - resources: {kinds: [Pod], names: [web], namespaces: [team-a]}
`
	checker, err := shape.New(shape.Config{})
	if err != nil {
		log.Fatal(err)
	}
	doc, err := exception.Parse([]byte(text), "web.yaml")
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range checker.Check(doc, time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)) {
		fmt.Println(f.Position, f.Severity, f.Reason)
	}
	// Output:
	// web.yaml:9:7 error reaches-guard
	// web.yaml:9:7 error wildcard-policy
}

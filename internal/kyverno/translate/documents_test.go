package translate_test

import (
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/test/must"
)

var now = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// legacy is an exception without a problem.
const legacy = `apiVersion: kyverno.io/v2
kind: PolicyException
metadata:
  name: web-probes
  namespace: team-a
  annotations:
    polex.dev/reason: the vendor's image has no health endpoint
    polex.dev/expires-in: 7d
spec:
  exceptions:
  - policyName: require-probes
    ruleNames: [check, autogen-check]
  match:
    any:
    - resources:
        kinds: [Deployment]
        names: [web]
        namespaces: [team-a]
`

// legacyMatch is its match.
var legacyMatch = legacy[strings.LastIndex(legacy, "  match:"):]

func replaced(text, old, with string) string {
	if !strings.Contains(text, old) {
		panic("there is no " + old)
	}
	return strings.Replace(text, old, with, 1)
}

// checked returns the findings on an exception for Kyverno 1.20.
func checked(t *testing.T, source string) []shape.Finding {
	t.Helper()
	doc := must.Get(exception.Parse([]byte(source), "file.yaml"))(t)
	checker := must.Get(shape.New(shape.Config{KyvernoVersion: "1.20"}))(t)
	return checker.Check(doc, now)
}

package sign_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/expect"
)

const kyvernoText = `# Approved until the vendor ships a fix.
apiVersion: kyverno.io/v2
kind: PolicyException
metadata:
  name: %s # what the pull request calls it
  namespace: team-a
  annotations:
    polex.dev/reason: 'the vendor''s agent mounts the host'
    polex.dev/expires-in: 7d
spec:
  match:
    any:
    - resources:
        kinds: [Pod]
        names: ["agent-*"]
        namespaces: [team-a]
  exceptions: # order of keys is the author's
  - policyName: disallow-host-path
    ruleNames: [host-path]
`

const policiesText = `apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata:
  name: %s
  namespace: team-a
  annotations:
    polex.dev/expires-in: 7d
spec:
  policyRefs:
  - name: disallow-host-path
    kind: ValidatingPolicy
`

func parse(tb testing.TB, text string) *exception.Document {
	tb.Helper()
	return expect.Value(exception.Parse([]byte(text), "exception.yaml"))(tb)
}

// parseAll reads a stream of documents.
func parseAll(tb testing.TB, text string) []*exception.Document {
	tb.Helper()
	var docs []*exception.Document
	reader := exception.NewReader(strings.NewReader(text), "exception.yaml")
	for {
		doc, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return docs
		}
		if err != nil {
			tb.Fatalf("parse: %v", err)
		}
		docs = append(docs, doc)
	}
}

// batch makes documents of both API groups in turns.
func batch(tb testing.TB, n int) []*exception.Document {
	tb.Helper()
	docs := make([]*exception.Document, n)
	for i := range docs {
		text := kyvernoText
		if i%2 == 1 {
			text = policiesText
		}
		docs[i] = parse(tb, fmt.Sprintf(text, fmt.Sprintf("exception-%d", i)))
	}
	return docs
}

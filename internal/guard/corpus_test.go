package guard_test

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/polex-dev/polex/internal/guard"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/test/attacks"
)

// TestCorpus sends a CREATE for every document of the attack corpus. If the API server could send
// such a review, the guard has to answer as the verifier does.
func TestCorpus(t *testing.T) {
	cases, err := attacks.Read()
	if err != nil {
		t.Fatal(err)
	}
	const fewest = 450
	asked := 0
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			h := handler(t, rulesOf(t, c), guard.Config{Now: func() time.Time { return c.Now }})
			reader := exception.NewReader(strings.NewReader(string(c.Input)), c.File)
			for _, want := range c.Expect {
				doc, err := reader.Next()
				if errors.Is(err, io.EOF) {
					t.Fatalf("there is no document that could be %s", want)
				}
				if err != nil {
					continue // a client cannot encode it as JSON
				}
				if want == "duplicate-identity" {
					want = attacks.Verified // the API server knows the object
				}
				if _, narrowed := doc.Lookup("spec", "matchConditions"); want == attacks.Verified && doc.GroupKind().Group == exception.PoliciesGroup && !narrowed {
					want = guard.ReasonReachesGuard // the verifier does not check the exempted resources
				}
				asked++
				got := judged(t, h, request(t, admissionv1.Create, jsonOf(t, doc), nil))
				if got != want {
					t.Errorf("%s: %q, want %q", c.Title, got, want)
				}
			}
		})
	}
	if asked < fewest {
		t.Errorf("%d documents were asked for, want %d", asked, fewest)
	}
}

func jsonOf(t *testing.T, doc *exception.Document) []byte {
	t.Helper()
	if doc.JSON() {
		return doc.Source()
	}
	raw, err := json.Marshal(doc.Object())
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// rulesOf returns rules for the policy and root of a case.
func rulesOf(t *testing.T, c *attacks.Case) *guard.Rules {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, attacks.RootFile, c.Root)
	doc, err := exception.Parse(c.Policy, attacks.PolicyFile)
	if err != nil {
		t.Fatal(err)
	}
	config, err := trust.Read(doc, dir)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := guard.NewRules(config, guard.Settings{}, "sha256:corpus")
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

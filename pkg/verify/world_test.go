package verify_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/internal/sandbox/sandboxtest"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/must"
)

// world is a Sigstore on loopback, shared by all tests here, and a document that was honestly signed with it.
type world struct {
	*sandbox.Sandbox
	now    time.Time // the time of all cases, unless one states another
	root   []byte    // its trusted_root.json
	honest *exception.Document
}

// subject is the identity of the sandbox's workflow.
var subject = sandbox.Identity{}.Subject()

// draft is the exception to sign; %s is the place of its lifetime.
const draft = `apiVersion: kyverno.io/v2
kind: PolicyException
metadata:
  name: allow-latest
  namespace: exceptions
  labels:
    team: payments
  annotations:
    polex.dev/reason: the vendor ships no tags yet
    %s
spec:
  background: true
  exceptions:
    - policyName: disallow-latest-tag
      ruleNames: [require-image-tag]
  match:
    any:
      - resources:
          kinds: [Pod]
          namespaces: [payments]
          names: ["vendor-*"]
          selector:
            matchLabels:
              status: canary
  conditions:
    any:
      - key: "{{ request.object.metadata.labels.tier }}"
        operator: Equals
        value: 3
`

// until returns the draft with an expiry relative to the world's time.
func (w *world) until(d time.Duration) string {
	return fmt.Sprintf(draft, fmt.Sprintf("polex.dev/expires-at: %q", w.now.Add(d).UTC().Format(time.RFC3339)))
}

var box, otherBox sandboxtest.Shared

func TestMain(m *testing.M) { sandboxtest.Main(m, &box, &otherBox) }

var theWorld = sync.OnceValues(func() (*world, error) {
	w, err := worldOf(&box)
	if err != nil {
		return nil, err
	}
	w.honest, err = w.signHonestly(context.Background(), fmt.Sprintf(draft, "polex.dev/expires-in: 7d"))
	return w, err
})

// elsewhere is another Sigstore that the first one's root does not have.
var elsewhere = sync.OnceValues(func() (*world, error) {
	here, err := theWorld()
	if err != nil {
		return nil, err
	}
	w, err := worldOf(&otherBox)
	if err == nil {
		w.now = here.now
	}
	return w, err
})

func worldOf(shared *sandboxtest.Shared) (*world, error) {
	s, err := shared.Start()
	if err != nil {
		return nil, err
	}
	root, err := os.ReadFile(s.TrustedRootPath)
	return &world{Sandbox: s, now: time.Now(), root: root}, err
}

func inWorld(t testing.TB) *world {
	t.Helper()
	return must.Get(theWorld())(t)
}

// signHonestly signs like polex-sign.
func (w *world) signHonestly(ctx context.Context, yaml string) (*exception.Document, error) {
	sealed, err := sandboxtest.Sign(ctx, w.Sandbox, sandbox.Identity{}, w.now, yaml)
	if err != nil {
		return nil, err
	}
	return sealed[0], nil
}

// config trusts the sandbox's workflow with the strictest policy.
func (w *world) config() trust.Config {
	return trust.Config{
		MaxLifetime: "90d",
		Authorities: []trust.AuthorityConfig{{
			Name: "merge", Issuer: w.IssuerURL, Subject: subject,
			Claims: map[string]trust.Values{
				"sourceRepositoryURI":             {"https://github.com/acme/exceptions"},
				"sourceRepositoryIdentifier":      {"1001"},
				"sourceRepositoryOwnerIdentifier": {"2001"},
				"sourceRepositoryRef":             {"refs/heads/main"},
				"buildTrigger":                    {"push"},
				"runnerEnvironment":               {"github-hosted"},
			},
		}},
	}
}

// verifier makes a verifier of the world's policy and root, each changed first.
func (w *world) verifier(t testing.TB, bend func(*trust.Config), bendRoot func(root object)) *verify.Verifier {
	t.Helper()
	root := must.Get(trust.ParseRoot(w.bentRoot(t, bendRoot), "sandbox"))(t)
	policy := must.Get(trust.New(w.bentConfig(bend), root))(t)
	return must.Get(verify.New(policy))(t)
}

func (w *world) bentConfig(bend func(*trust.Config)) trust.Config {
	config := w.config()
	if bend != nil {
		bend(&config)
	}
	return config
}

func (w *world) bentRoot(t testing.TB, bend func(root object)) []byte {
	t.Helper()
	if bend == nil {
		return w.root
	}
	tree := treeOf(w.root)
	bend(tree)
	return must.Get(json.Marshal(tree))(t)
}

// object is a decoded tree.
type object = map[string]any

func treeOf(raw []byte) object {
	var tree object
	if err := json.Unmarshal(raw, &tree); err != nil {
		panic(err)
	}
	return tree
}

// dig returns the mapping at a path of keys and indexes.
func dig(t testing.TB, root object, path ...any) object {
	t.Helper()
	var at any = root
	for _, step := range path {
		switch s := step.(type) {
		case string:
			at = at.(object)[s]
		case int:
			at = at.([]any)[s]
		}
	}
	m, ok := at.(object)
	if !ok {
		t.Fatalf("%v is not a mapping", path)
	}
	return m
}

// edited returns the document with a changed tree, as an attacker applies it.
func edited(t testing.TB, doc *exception.Document, edit func(root object)) *exception.Document {
	t.Helper()
	root := doc.Object()
	edit(root)
	return must.Get(exception.FromObject(root))(t)
}

func parse(t testing.TB, yaml string) *exception.Document {
	t.Helper()
	return must.Get(exception.Parse([]byte(yaml), "test.yaml"))(t)
}

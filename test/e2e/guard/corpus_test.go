//go:build e2e

package guard

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/internal/guard"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/attacks"
	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/servers"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// before lists documents that the API server rejects before it calls the guard, by rule, with its messages.
var before = map[string]string{
	"it is another kind than the address says":    `no kind "ConfigMap" is registered for version`,
	"it is another version than the address says": "does not match the expected API version",
	"the kind is in another case":                 "must be PolicyException",
	"a field is there that nobody knows":          "strict decoding error: unknown field",
	"a key is there twice":                        "strict decoding error: yaml: unmarshal errors",
	"metadata is of another type":                 "json: cannot unmarshal",
	"it is no YAML":                               "the object provided is unrecognized",
	"a field is of another type":                  "in body must be of type",
	"a field is missing":                          ": Required value",
	"metadata is not valid":                       "is invalid: metadata.",
	"metadata is not valid, in several places":    "is invalid: [metadata.",
}

// added lists the API server's changes before it calls the guard. They add or remove fields that are signed.
var added = map[string]string{
	"the namespace of the address": "[altered] it differs from its signed content: metadata.namespace was added",
	"a default":                    `[altered] it differs from its signed content: spec.reportResult was added after signing ("skip")`,
	// Fields that it removes.
	"a field that nobody knows": "[altered] it differs from its signed content: items was removed",
	"a null in an annotation":   `[altered] it differs from its signed content: metadata.annotations["polex.dev/expires-at"] is "", signed as null`,
	"a null in a field":         "[altered] it differs from its signed content: spec.expiresAt was removed (signed as null)",
}

// mended lists the files that the API server converts into the signed object. It drops null and empty values, fields
// that only it may write, and the form of the YAML. The stored object verifies.
var mended = []string{
	"altered/null", "altered/no-namespace", "altered/a-number-as-a-float", "altered/a-deletion-s-time", "altered/no-finalizers",
	"malformed/a-merge-key-in-the-document", "malformed/a-tag-in-the-document", "malformed/an-anchor-in-the-document",
	"malformed/a-number-of-base-8-in-the-document", "malformed/a-truth-of-yaml-1-1-in-the-document-b795",
	"malformed/a-directive-for-the-parser", // is a document without an object
}

// TestCorpus sends each document of the attack corpus to the API server. The guard rejects it with the verifier's
// reason, or the API server rejects it under a listed rule. A document that the corpus rejects is admitted only if the
// stored object verifies. That holds too if the client lets the API server drop unknown fields.
//
// Every case has its own trust policy, root and time, so the guard is the library's handler in this process. Nothing is
// stored: the corpus has the same identity hundreds of times.
func TestCorpus(t *testing.T) {
	withoutKyverno(t) // it rejects some of them too, and the API server tells one reason
	cases := must.Get(attacks.Read())(t)
	r := replay{handler: replayGuard(t), met: map[string]bool{}}
	for _, namespace := range []string{"exceptions", "open", "kyverno"} {
		must.Do(t, live.CreateNamespace(t.Context(), namespace))
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) { r.play(t, c) })
	}
	if t.Failed() {
		return
	}
	for _, rules := range []map[string]string{before, added} {
		for rule := range rules {
			expect.That(t, r.met[rule], "no document meets the rule %q", rule)
		}
	}
	const fewest = 450
	if t.Logf("the guard judged %d documents as the verifier does", r.judged); r.judged < fewest {
		t.Errorf("the guard judged %d documents, want %d", r.judged, fewest)
	}
}

// replay holds the results of a replay.
type replay struct {
	handler *atomic.Pointer[guard.Handler]
	met     map[string]bool // rules
	judged  int             // documents with the expected verdict of the guard
}

func (r *replay) play(t *testing.T, c *attacks.Case) {
	rules, verifier := rulesOf(t, c)
	handler := must.Get(guard.NewHandler(guard.Config{Rules: rules, Now: func() time.Time { return c.Now }}))(t)
	r.handler.Store(handler)
	for n, document := range documentsOf(t, c) {
		// A reader of the whole file stops at an unreadable document; kubectl continues.
		want := c.Expect[min(n, len(c.Expect)-1)]
		if want == "duplicate-identity" {
			want = attacks.Verified // the API server knows the stored objects
		}
		if want == attacks.Verified && bytes.Contains(document, []byte("policyRefs")) && !bytes.Contains(document, []byte("matchConditions")) {
			want = guard.ReasonReachesGuard // the verifier does not check the exempted resources
		}
		for _, validation := range []string{"Strict", "Ignore"} {
			said, verdict := put(t, document, validation)
			if verdict == want {
				r.judged++
			}
			if said.OK() {
				expect.That(t, want == attacks.Verified || validation != "Strict" || slices.Contains(mended, c.Name),
					"document %d is admitted, and has to be refused for %s", n+1, want)
				if doc, err := exception.Parse(said.Body, "answer"); err != nil {
					t.Error(err)
				} else if _, err := verifier.Verify(doc, c.Now); err != nil {
					t.Errorf("document %d is admitted, and what would be stored does not verify: %v", n+1, err)
				}
			}
			if said.OK() || verdict == want {
				break
			}
			// With strict validation, the API server may reject a valid document.
			if r.ruleOf(verdict, said.Message()) == "" || verdict == "" && want == attacks.Verified && validation == "Ignore" {
				t.Errorf("document %d has to be %s, and %d: %s", n+1, want, said.Code, said.Message())
			}
		}
	}
}

// ruleOf returns the rule under which the API server rejects a document, or makes the guard reject it.
func (r *replay) ruleOf(verdict, message string) string {
	rules := before
	if verdict != "" {
		rules = added
	}
	for rule, says := range rules {
		if strings.Contains(message, says) {
			r.met[rule] = true
			return rule
		}
	}
	return ""
}

// documentsOf splits a file like kubectl, which ignores empty documents.
func documentsOf(t *testing.T, c *attacks.Case) [][]byte {
	t.Helper()
	if isJSON(c.Input) {
		return [][]byte{c.Input}
	}
	documents := must.Get(cluster.Documents(c.Input))(t)
	return slices.DeleteFunc(documents, func(document []byte) bool {
		var holds any
		return yaml.Unmarshal(document, &holds) == nil && holds == nil
	})
}

func isJSON(document []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(document), []byte("{")) }

var denial = regexp.MustCompile(`^admission webhook "guard\.polex\.dev" denied the request: \[([a-z0-9-]+)\] `)

// put creates a document at the address that it states, in a dry run. verdict is the guard's
// reason, "verified" if it is admitted, and "" if the API server rejects it.
func put(t *testing.T, document []byte, validation string) (r response, verdict string) {
	t.Helper()
	var said struct {
		APIVersion, Kind string
		Metadata         struct{ Namespace string }
	}
	_ = yaml.Unmarshal(document, &said) // a document that clients cannot read is sent unchanged
	if said.Metadata.Namespace == "" {
		said.Metadata.Namespace = "exceptions"
	}
	path := cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: said.Metadata.Namespace}.Path("")
	if group, version, grouped := strings.Cut(said.APIVersion, "/"); said.Kind == "ConfigMap" {
		path = fmt.Sprintf("/api/v1/namespaces/%s/configmaps", said.Metadata.Namespace)
	} else if grouped && strings.Contains(group, ".") {
		path = cluster.Target{Group: group, Version: version, Namespace: said.Metadata.Namespace}.Path("")
	}
	contentType := ""
	if isJSON(document) {
		contentType = "application/json"
	}
	r = do(t, cluster.Request{Method: http.MethodPost, Path: path + "?dryRun=All&fieldValidation=" + validation, Body: document, ContentType: contentType})
	if r.OK() {
		verdict = attacks.Verified
	}
	if found := denial.FindStringSubmatch(r.Message()); found != nil {
		verdict = found[1]
	}
	return r, verdict
}

// replayGuard registers a guard in this process. It uses the handler that was stored last.
func replayGuard(t *testing.T) *atomic.Pointer[guard.Handler] {
	t.Helper()
	var handler atomic.Pointer[guard.Handler]
	var current guard.Current
	current.Replace(theSandbox(t))
	first := must.Get(guard.NewHandler(guard.Config{Rules: &current, Now: time.Now}))(t)
	handler.Store(first)
	i := &instance{dir: t.TempDir(), group: &servers.Group{}}
	i.bundle = certify(t, i.dir)
	certificate := must.Get(tls.LoadX509KeyPair(filepath.Join(i.dir, "tls.crt"), filepath.Join(i.dir, "tls.key")))(t)
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	server := &http.Server{
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.Load().ServeHTTP(w, r) }),
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
		ReadHeaderTimeout: waitLimit,
		ErrorLog:          log.New(t.Output(), "", 0),
	}
	ended := make(chan error, 1)
	go func() { ended <- server.ServeTLS(listener, "", "") }()
	t.Cleanup(func() {
		_ = server.Close()
		err := <-ended
		expect.That(t, errors.Is(err, http.ErrServerClosed), "%v", err)
	})
	i.webhook = listener.Addr().String()
	i.alsoAsked = `  - {apiGroups: [""], apiVersions: ["*"], resources: [configmaps], operations: [CREATE], scope: "*"}` + "\n"
	i.register(t)
	return &handler
}

// theSandbox returns rules that trust the sandbox.
func theSandbox(t *testing.T) *guard.Rules {
	t.Helper()
	i := &instance{config: filepath.Join(t.TempDir(), "config.yaml")}
	i.configure(t, "")
	return rulesIn(t, must.Get(os.ReadFile(i.config))(t), filepath.Dir(i.config))
}

// rulesOf returns the rules of a case, and a verifier to check admitted documents.
func rulesOf(t *testing.T, c *attacks.Case) (*guard.Current, *verify.Verifier) {
	t.Helper()
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, attacks.RootFile), c.Root, 0o600))
	var current guard.Current
	current.Replace(rulesIn(t, c.Policy, dir))
	return &current, must.Get(verify.New(must.Get(trust.Load(configIn(t, c.Policy, dir)))(t)))(t)
}

func configIn(t *testing.T, text []byte, dir string) trust.Config {
	t.Helper()
	return must.Get(trust.Read(must.Get(exception.Parse(text, attacks.PolicyFile))(t), dir))(t)
}

func rulesIn(t *testing.T, text []byte, dir string) *guard.Rules {
	t.Helper()
	return must.Get(guard.NewRules(configIn(t, text, dir), guard.Settings{}, "sha256:corpus"))(t)
}

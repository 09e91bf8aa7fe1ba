package verify_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/attacks"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

var forge = flag.Bool("forge", false, "forge the cases of the attack corpus that have no file")

// mostAllocated is the maximum memory for verifying a hostile document, in bytes.
const mostAllocated = 20 << 20

// unreachable is a network that fails the test when it is used.
type unreachable struct{ t *testing.T }

func (u unreachable) RoundTrip(r *http.Request) (*http.Response, error) {
	u.t.Errorf("verifying asks for %s", r.URL)
	return nil, errors.New("there is no network here")
}

func (u unreachable) dial(_ context.Context, network, address string) (net.Conn, error) {
	u.t.Errorf("verifying looks up a name at %s %s", network, address)
	return nil, errors.New("there is no network here")
}

// TestCorpus verifies every file of the attack corpus, without a network.
func TestCorpus(t *testing.T) {
	if *forge {
		must.Do(t, attacks.Write(corpusOf(t, inWorld(t))))
	}
	transport, resolver := http.DefaultTransport, net.DefaultResolver
	defer func() { http.DefaultTransport, net.DefaultResolver = transport, resolver }()
	nowhere := unreachable{t}
	http.DefaultTransport, net.DefaultResolver = nowhere, &net.Resolver{PreferGo: true, Dial: nowhere.dial}
	var slowest time.Duration
	var slow string
	for _, c := range corpus(t) {
		t.Run(c.Name, func(t *testing.T) {
			v := verifierOf(t, c)
			var got []string
			began := time.Now()
			expect.Allocates(t, "judging it", mostAllocated, func() { got = judgeInput(v, c) })
			took := time.Since(began)
			expect.Equal(t, c.Title, c.Expect, got)
			if took > slowest {
				slowest, slow = took, c.Name
			}
		})
	}
	t.Logf("the slowest took %s: %s", slowest.Round(time.Microsecond), slow)
}

// judgeInput verifies the documents of a file one by one.
func judgeInput(v *verify.Verifier, c *attacks.Case) []string {
	var got []string
	var met exception.Identities
	for reader := exception.NewReader(strings.NewReader(string(c.Input)), c.File); ; {
		doc, err := reader.Next()
		var syntax *exception.SyntaxError
		switch {
		case errors.Is(err, io.EOF):
			return got
		case errors.As(err, &syntax):
			got = append(got, "malformed")
			continue
		case err != nil:
			return append(got, err.Error())
		}
		_, err = v.Verify(doc, c.Now)
		var rejected *verify.Rejected
		switch {
		case errors.As(err, &rejected):
			got = append(got, rejected.Reason)
		case err != nil:
			got = append(got, err.Error())
		default:
			if _, again := met.Add(doc); again {
				got = append(got, "duplicate-identity")
				continue
			}
			got = append(got, attacks.Verified)
		}
	}
}

// TestCorpusIsWhole compares the files with the tables from which they are forged: both have the
// same cases, and every reason has one.
func TestCorpusIsWhole(t *testing.T) {
	const fewest = 150
	var files, tables []string
	shown := map[string]bool{}
	for _, c := range corpus(t) {
		files = append(files, c.Name)
		if c.Expect[0] != attacks.Verified {
			shown[c.Expect[0]] = true
		}
	}
	declared := reasons(t)
	for _, tc := range verdicts(inWorld(t)) {
		expect.That(t, tc.want == "" || slices.Contains(declared, tc.want), "a case expects %q, which is no reason", tc.want)
		tables = append(tables, attacks.Name(tc.expected(), slug(tc.name)))
	}
	slices.Sort(files)
	slices.Sort(tables)
	expect.Equal(t, "go test ./pkg/verify -run TestCorpus -forge (-tables +files)", tables, files)
	for _, reason := range declared {
		expect.That(t, shown[reason], "no case is refused as %q", reason)
	}
	expect.That(t, len(files) >= fewest, "the corpus holds %d cases, want %d", len(files), fewest)
}

func corpus(t testing.TB) []*attacks.Case {
	t.Helper()
	return must.Get(attacks.Read())(t)
}

func verifierOf(t testing.TB, c *attacks.Case) *verify.Verifier {
	t.Helper()
	return must.Get(verify.New(policyOf(t, c)))(t)
}

func policyOf(t testing.TB, c *attacks.Case) *trust.Policy {
	t.Helper()
	root := must.Get(trust.ParseRoot(c.Root, attacks.RootFile))(t)
	return must.Get(trust.New(configOf(t, c), root))(t)
}

func configOf(t testing.TB, c *attacks.Case) trust.Config {
	t.Helper()
	doc := must.Get(exception.Parse(c.Policy, attacks.PolicyFile))(t)
	return must.Get(trust.Read(doc, ""))(t)
}

// corpusOf forges every case of the tables.
func corpusOf(t *testing.T, w *world) []*attacks.Case {
	var cases []*attacks.Case
	for _, tc := range verdicts(w) {
		c := &attacks.Case{Name: attacks.Name(tc.expected(), slug(tc.name)), Title: tc.name, Now: w.now.Add(tc.after), Differs: tc.differs, Expect: tc.expected()}
		c.File, c.Input = tc.input(t, w)
		c.Root = w.bentRoot(t, tc.root)
		c.Policy = policyText(t, w.bentConfig(tc.policy))
		cases = append(cases, c)
	}
	return cases
}

func (tc verdict) expected() []string {
	switch {
	case tc.wants != nil:
		return tc.wants
	case tc.want == "":
		return []string{attacks.Verified}
	default:
		return []string{tc.want}
	}
}

// input writes a case's document as a file.
func (tc verdict) input(t *testing.T, w *world) (name string, text []byte) {
	t.Helper()
	if tc.file != nil {
		return "exceptions.yaml", []byte(tc.file(t, w))
	}
	doc := tc.doc(t, w)
	if text = doc.Source(); text == nil {
		text = must.Get(exception.Canonical(doc.Object()))(t)
		// YAML would convert a whole float into an integer.
		if again, err := exception.Parse(text, "x"); err != nil || !reflect.DeepEqual(again.Object(), doc.Object()) {
			return "exception.json", exactJSON(t, doc.Object())
		}
	}
	if doc.JSON() {
		return "exception.json", text
	}
	return "exception.yaml", text
}

// exactJSON keeps whole floats as floats.
func exactJSON(t *testing.T, object map[string]any) []byte {
	t.Helper()
	const mark = "a whole float "
	raw := must.Get(json.MarshalIndent(marked(object, mark), "", "  "))(t)
	return append(regexp.MustCompile(`"`+mark+`(-?\d+)"`).ReplaceAll(raw, []byte("$1.0")), '\n')
}

func marked(value any, mark string) any {
	switch v := value.(type) {
	case map[string]any:
		for key := range v {
			v[key] = marked(v[key], mark)
		}
	case []any:
		for i := range v {
			v[i] = marked(v[i], mark)
		}
	case float64:
		if v == float64(int64(v)) {
			return mark + strconv.FormatInt(int64(v), 10)
		}
	}
	return value
}

// policyText writes a trust policy without empty fields.
func policyText(t *testing.T, config trust.Config) []byte {
	t.Helper()
	config.TrustedRoot = attacks.RootFile
	raw := must.Get(json.Marshal(config))(t)
	var tree map[string]any
	must.Do(t, json.Unmarshal(raw, &tree))
	text := must.Get(yaml.Marshal(
		object{"apiVersion": "polex.dev/v1alpha1", "kind": "Config", "trust": said(tree)}))(t)
	return text
}

// said removes empty values.
func said(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, item := range v {
			inner, mapping := said(item).(map[string]any)
			if item == nil || mapping && len(inner) == 0 || reflect.ValueOf(item).IsZero() {
				delete(v, key)
			}
		}
	case []any:
		for i := range v {
			v[i] = said(v[i])
		}
	}
	return value
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// slug returns the file name of a case: its own name, or a shortened one that stays unique.
func slug(name string) string {
	const most = 72
	text := strings.Trim(notInNames.ReplaceAllString(strings.ToLower(name), "-"), "-")
	plain := strings.NewReplacer(" ", "", ",", "", ":", "", "'", "", "-", "").Replace(strings.ToLower(name))
	if len(text) > most || notInNames.MatchString(plain) {
		var sum uint32
		for _, b := range []byte(name) {
			sum = sum*31 + uint32(b)
		}
		text = fmt.Sprintf("%s-%04x", strings.Trim(text[:min(len(text), most)], "-"), sum&0xffff)
	}
	return text
}

package verify_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	"github.com/sigstore/sigstore/pkg/cryptoutils"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/attacks"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

const (
	day  = 24 * time.Hour
	week = 7 * day
)

// verdict is one document with its expected result.
type verdict struct {
	name   string
	want   string // "" for acceptance
	detail string // a part of the rejection's detail
	doc    func(t *testing.T, w *world) *exception.Document
	policy func(*trust.Config)
	root   func(root object)
	after  time.Duration // time of the verification, after the signing
	// file replaces doc for a file with any number of documents; wants are their expected results.
	file  func(t *testing.T, w *world) string
	wants []string
	// differs is the cause of another verdict of cosign.
	differs string
}

func verdicts(w *world) []verdict {
	return slices.Concat(evidenceVerdicts(w), bundleVerdicts(w), identityVerdicts(w), authorityVerdicts(w),
		sealVerdicts(w), messageVerdicts(w), objectVerdicts(w), lifetimeVerdicts(w), fileVerdicts(w),
		groupVerdicts(w), limitVerdicts(w), rekorV2Verdicts(w), signingTimeVerdicts(w))
}

// TestVerdicts forges each document so that it is wrong in one way only, and compares the reason of
// the rejection with the expected one. Then it asks one examination of the document about many times. Each answer
// equals a new verification, in any order. A rejection that does not depend on the time occurs at every time. A
// valid document is not valid before its signing.
func TestVerdicts(t *testing.T) {
	w := inWorld(t)
	names := map[string]bool{}
	all := reasons(t)
	lastTimeless := slices.Index(all, verify.ReasonAltered)
	met := map[bool]int{}
	for _, tc := range slices.Concat(verdicts(w), costlyVerdicts(t, w), keyVerdicts(t, w)) {
		name := attacks.Name(tc.expected(), slug(tc.name))
		expect.That(t, !names[name], "two cases are called %q", name)
		names[name] = true
		t.Run(tc.name, func(t *testing.T) {
			v := w.verifier(t, tc.policy, tc.root)
			if tc.file != nil {
				name, text := tc.input(t, w)
				got := judgeInput(v, &attacks.Case{File: name, Input: text, Now: w.now.Add(tc.after)})
				expect.Equal(t, "result", tc.wants, got)
				return
			}
			doc, then := tc.doc(t, w), w.now.Add(tc.after)
			judge(t, v, doc, then, tc.want, tc.detail)
			// A missing time can also be a reason of the lifetime step.
			timeless := tc.want != "" && tc.want != verify.ReasonNoWitnessedTime && slices.Index(all, tc.want) <= lastTimeless
			met[timeless]++
			examined := v.Examine(doc)
			for _, at := range []time.Time{then, w.now.AddDate(-1, 0, 0), then, w.now.AddDate(100, 0, 0), {}, then} {
				got, fresh := told(examined.At(at)), told(v.Verify(doc, at))
				if diff := cmp.Diff(fresh, got, cmpopts.IgnoreUnexported(verify.Signature{})); diff != "" {
					t.Fatalf("as of %s (-anew +examined)\n%s", at, diff)
				}
				expect.That(t, (!at.Equal(then) && !timeless) || got.Reason == tc.want,
					"as of %s it is %q, and not %q", at, got.Reason, tc.want)
			}
		})
	}
	expect.That(t, met[true] != 0 && met[false] != 0, "there are not both kinds of cases: %v", met)
}

func judge(t *testing.T, v *verify.Verifier, doc *exception.Document, now time.Time, want string, details ...string) {
	t.Helper()
	verified, err := v.Verify(doc, now)
	if rejected := answers(t, verified, err, want, details...); rejected != nil {
		checkFacts(t, doc, rejected)
		return
	}
	checkMessage(t, doc, verified)
	expect.Is(t, "signatures", len(readSeal(t, doc).Signatures), len(verified.Signatures()))
}

// answers compares the answer of a verification with a reason, "" for acceptance, and parts of the detail. It
// returns the rejection.
func answers(t testing.TB, verified *verify.Verified, err error, reason string, details ...string) *verify.Rejected {
	t.Helper()
	var rejected *verify.Rejected
	switch {
	case err == nil && verified == nil, err != nil && verified != nil:
		t.Errorf("the result %v beside %v", verified, err)
	case err == nil && reason != "":
		t.Errorf("verified, and it should be refused: %s", reason)
	case err == nil:
	case !errors.As(err, &rejected):
		t.Errorf("undecided: %v", err)
	case rejected.Reason != reason || rejected.Detail == "":
		t.Errorf("refused: %v, want %q", err, reason)
	default:
		expect.Error(t, errors.New(rejected.Detail), details...)
	}
	return rejected
}

// checkMessage compares the verified message with the signed annotations.
func checkMessage(t *testing.T, doc *exception.Document, verified *verify.Verified) {
	t.Helper()
	s := must.Get(seal.Read(doc))(t)
	want := parse(t, string(s.Message)).Object()
	expect.Equal(t, "the verified message (-signed +returned)", want, verified.Message().Object())
}

// reasons reads the constants from the source, so a new reason requires a case that is rejected for it.
func reasons(t *testing.T) []string {
	t.Helper()
	file := must.Get(parser.ParseFile(token.NewFileSet(), "reason.go", nil, 0))(t)
	var found []string
	ast.Inspect(file, func(n ast.Node) bool {
		if declared, ok := n.(*ast.GenDecl); ok && declared.Tok != token.CONST {
			return false
		}
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for _, value := range spec.Values {
			text := must.Get(strconv.Unquote(value.(*ast.BasicLit).Value))(t)
			expect.That(t, !slices.Contains(found, text), "two reasons are called %q", text)
			found = append(found, text)
		}
		return true
	})
	var listed []string
	for _, r := range verify.Reasons() {
		listed = append(listed, r.Name)
		expect.That(t, r.Doc != "", "%s is not explained", r.Name)
	}
	if diff := cmp.Diff(found, listed); diff != "" {
		t.Fatalf("the list of reasons (-declared +listed):\n%s", diff)
	}
	return found
}

// maker makes the document of a case.
type maker = func(*testing.T, *world) *exception.Document

func honest(_ *testing.T, w *world) *exception.Document { return w.honest }

// forged signs the draft with sets of a malicious Sigstore.
func forged(sets ...set) maker { return statedless(week, sets...) }

// statedless signs a draft that expires relative to the world's time, and does not state its signing time.
func statedless(end time.Duration, sets ...set) maker {
	return func(t *testing.T, w *world) *exception.Document { return w.sealed(t, w.until(end), sets...) }
}

// signed signs a document, with one set if none is given.
func signed(yaml string, sets ...set) maker {
	if len(sets) == 0 {
		sets = []set{{}}
	}
	return func(t *testing.T, w *world) *exception.Document { return w.sealed(t, yaml, sets...) }
}

func unsigned(t *testing.T, w *world) *exception.Document { return parse(t, w.until(week)) }

// resealed changes the honest signature annotations.
func resealed(bend func(*testing.T, *seal.Seal)) maker {
	return func(t *testing.T, w *world) *exception.Document {
		return w.resealed(t, func(s *seal.Seal) { bend(t, s) })
	}
}

// onlyV03 keeps only the Sigstore bundle of the honest signature, changed.
func onlyV03(bend func(*protobundle.Bundle)) maker {
	return resealed(func(t *testing.T, s *seal.Seal) {
		s.Signatures[0].Bundle = nil
		s.Signatures[0].BundleV03 = bent(t, s.Signatures[0].BundleV03, bend)
	})
}

// onlyOld keeps only cosign's bundle of the honest signature, changed.
func onlyOld(bend func(*seal.RekorBundle)) maker {
	return resealed(func(_ *testing.T, s *seal.Seal) {
		s.Signatures[0].BundleV03 = nil
		bend(s.Signatures[0].Bundle)
	})
}

// changed applies a changed object with the honest signature.
func changed(edit func(t *testing.T, root object)) maker {
	return func(t *testing.T, w *world) *exception.Document {
		return edited(t, w.honest, func(root object) { edit(t, root) })
	}
}

// annotated sets annotations on the honest document; nil removes one.
func annotated(values map[string]any) maker {
	return changed(func(t *testing.T, root object) {
		annotations := dig(t, root, "metadata", "annotations")
		for key, value := range values {
			if value == nil {
				delete(annotations, key)
				continue
			}
			annotations[key] = value
		}
	})
}

// text signs any text as the message of the draft, with a valid log entry.
func text(message string, by set) maker {
	return func(t *testing.T, w *world) *exception.Document {
		return attach(t, parse(t, w.until(week)), &seal.Seal{Message: []byte(message),
			Signatures: []seal.Signature{w.sign(t, []byte(message), by)}})
	}
}

// both makes several changes.
func both[T any](changes ...func(T)) func(T) {
	return func(changed T) {
		for _, change := range changes {
			change(changed)
		}
	}
}

// put sets the value at a path of keys in a tree.
func put(value any, path ...string) func(object) {
	return func(root object) {
		last := len(path) - 1
		for _, key := range path[:last] {
			root = root[key].(object)
		}
		root[path[last]] = value
	}
}

func without(list string) func(object) { return func(root object) { delete(root, list) } }

// Changes of a trust policy.

func atMost(lifetime string) func(*trust.Config) {
	return func(c *trust.Config) { c.MaxLifetime = lifetime }
}

func onlyBy(authorities ...trust.AuthorityConfig) func(*trust.Config) {
	return func(c *trust.Config) { c.Authorities = slices.Clone(authorities) }
}

func byKey(key *ecdsa.PrivateKey, withoutLog bool) func(*trust.Config) {
	return onlyBy(trust.AuthorityConfig{Name: "ci", Key: publicPEM(key), InsecureWithoutLog: withoutLog})
}

func revoked(rules ...trust.RevocationConfig) func(*trust.Config) {
	return func(c *trust.Config) { c.Revoked = rules }
}

func kinds(kinds ...string) func(*trust.Config) { return func(c *trust.Config) { c.Kinds = kinds } }

// Changes of a certificate.

func noSCT(f *sandbox.Forgery) { f.WithoutSCT = true }

func byStrangers(f *sandbox.Forgery) { f.Template.URIs[0].Host = "stranger.invalid" }

func valid(w *world, from, to time.Duration) func(*sandbox.Forgery) {
	return func(f *sandbox.Forgery) { f.Template.NotBefore, f.Template.NotAfter = w.now.Add(from), w.now.Add(to) }
}

func newKey() *ecdsa.PrivateKey { return orPanic(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)) }

func publicPEM(key *ecdsa.PrivateKey) string {
	return string(orPanic(cryptoutils.MarshalPublicKeyToPEM(key.Public())))
}

// orPanic returns a value for a list of cases, and panics at an error.
func orPanic[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// swapped is strings.Replace that panics without a replacement.
func swapped(text, old, with string) string {
	if !strings.Contains(text, old) {
		panic(old + " is not in the text")
	}
	return strings.Replace(text, old, with, 1)
}

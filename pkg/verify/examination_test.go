package verify_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// TestExaminedOnce asks one examination of every case about many times. Each answer equals a new
// verification, in any order. A rejection that does not depend on the time occurs at every time. A
// valid document is not valid before its signing.
func TestExaminedOnce(t *testing.T) {
	w := inWorld(t)
	lastTimeless := slices.Index(reasons(t), verify.ReasonAltered)
	met := map[bool]int{}
	for _, tc := range verdicts(w) {
		if tc.file != nil {
			continue
		}
		t.Run(tc.name, func(t *testing.T) {
			v, doc := w.verifier(t, tc.policy, tc.root), tc.doc(t, w)
			// A missing time can also be a reason of the lifetime step.
			timeless := tc.want != "" && tc.want != verify.ReasonNoWitnessedTime && slices.Index(reasons(t), tc.want) <= lastTimeless
			met[timeless]++
			examined := v.Examine(doc)
			then := w.now.Add(tc.after)
			for _, at := range []time.Time{then, w.now.AddDate(-1, 0, 0), then, w.now.AddDate(100, 0, 0), {}, then} {
				got, err := examined.At(at)
				fresh, freshErr := v.Verify(doc, at)
				if diff := cmp.Diff(told(fresh, freshErr), told(got, err), cmpopts.IgnoreUnexported(verify.Signature{})); diff != "" {
					t.Fatalf("as of %s (-anew +examined)\n%s", at, diff)
				}
				reason := told(got, err).Reason
				expect.That(t, (!at.Equal(then) && !timeless) || reason == tc.want,
					"as of %s it is %q, and not %q", at, reason, tc.want)
			}
		})
	}
	expect.That(t, met[true] != 0 && met[false] != 0, "there are not both kinds of cases: %v", met)
}

// answer is a verdict in a comparable form.
type answer struct {
	Reason, Detail string
	Facts          verify.Facts
	Signed         string
}

func told(verified *verify.Verified, err error) answer {
	var rejected *verify.Rejected
	switch {
	case errors.As(err, &rejected):
		return answer{Reason: rejected.Reason, Detail: rejected.Detail, Facts: rejected.Facts}
	case err != nil:
		return answer{Detail: err.Error()}
	default:
		return answer{Facts: verified.Facts(), Signed: string(verified.Message().Source())}
	}
}

// TestAnswersAreApart: changes to the facts of one answer do not affect another.
func TestAnswersAreApart(t *testing.T) {
	w := inWorld(t)
	examined := w.verifier(t, nil, nil).Examine(w.honest)
	inACentury := func() *verify.Rejected {
		verified, err := examined.At(w.now.AddDate(100, 0, 0))
		return answers(t, verified, err, verify.ReasonExpired)
	}
	rejected := inACentury()
	rejected.Facts.Signatures[0].Authority, rejected.Facts.Signatures[0].WitnessedAt = "nobody", time.Time{}
	rejected.Facts.MessageDigest, rejected.Reason = "", verify.ReasonWithdrawn
	verified := must.Get(examined.At(w.now))(t)
	if s := verified.Signatures()[0]; s.Authority == "nobody" || s.WitnessedAt.IsZero() || verified.Facts().MessageDigest == "" {
		t.Errorf("the answer says %+v", s)
	}
	inACentury()
}

// TestNothingExamined: without an examined document, nothing is valid.
func TestNothingExamined(t *testing.T) {
	w := inWorld(t)
	var none *verify.Verifier
	for name, examined := range map[string]*verify.Examination{
		"nil": nil, "zero": {}, "no document": w.verifier(t, nil, nil).Examine(nil), "no verifier": none.Examine(w.honest),
	} {
		verified, err := examined.At(w.now)
		expect.That(t, err != nil && verified == nil, "%s: verified", name)
	}
}

// TestManyGoroutines uses one Verifier from 64 goroutines, also for shared documents. Run it with go test -race.
func TestManyGoroutines(t *testing.T) {
	w := inWorld(t)
	key := newKey(t)
	v := w.verifier(t, func(c *trust.Config) {
		c.Authorities = append(c.Authorities, trust.AuthorityConfig{Name: "ci", Key: string(signerPEM(t, key, nil))},
			trust.AuthorityConfig{Name: "people", Issuer: w.IssuerURL, SubjectRegexp: `\w+@acme\.example`})
	}, nil)
	cases := []struct {
		doc  *exception.Document
		want string
	}{
		{w.honest, ""},
		{forged(set{}, person("anna@acme.example"))(t, w), ""},
		{stated(0, set{key: key, keyed: true})(t, w), ""},
		{forged(set{keyed: true})(t, w), verify.ReasonUnknownKey},
		{forged(set{}, set{signature: []byte("x")})(t, w), verify.ReasonBadSignature},
		{selfSigned(nil)(t, w), verify.ReasonUntrustedCertificate},
		{onlyOld(func(*seal.RekorBundle) {})(t, w), ""},
		{changed(change{at: []any{"metadata"}, key: "name", value: "x"}.apply)(t, w), verify.ReasonAltered},
	}
	var together, done sync.WaitGroup
	together.Add(1)
	for i := range 64 {
		done.Go(func() {
			together.Wait()
			for j := range 2 * len(cases) {
				tc := cases[(i+j)%len(cases)]
				verified, err := v.Verify(tc.doc, w.now)
				answers(t, verified, err, tc.want)
			}
		})
	}
	together.Done()
	done.Wait()
}

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

// TestNoNetwork verifies the whole corpus without a network.
func TestNoNetwork(t *testing.T) {
	transport, resolver := http.DefaultTransport, net.DefaultResolver
	defer func() { http.DefaultTransport, net.DefaultResolver = transport, resolver }()
	nowhere := unreachable{t}
	http.DefaultTransport, net.DefaultResolver = nowhere, &net.Resolver{PreferGo: true, Dial: nowhere.dial}
	for _, c := range corpus(t) {
		expect.Equal(t, c.Name, c.Expect, judgeInput(verifierOf(t, c), c))
	}
}

// TestKeysOfCertificates: a certificate has a key of a type and a size that other verifiers accept too.
func TestKeysOfCertificates(t *testing.T) {
	for name, tc := range map[string]struct {
		key      func() (crypto.Signer, error)
		accepted bool
	}{
		"P-256":    {func() (crypto.Signer, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }, true},
		"P-521":    {func() (crypto.Signer, error) { return ecdsa.GenerateKey(elliptic.P521(), rand.Reader) }, true},
		"RSA 2048": {func() (crypto.Signer, error) { return rsa.GenerateKey(rand.Reader, 2048) }, true},
		"RSA 2560": {func() (crypto.Signer, error) { return rsa.GenerateKey(rand.Reader, 2560) }, false},
		"Ed25519": {func() (crypto.Signer, error) {
			_, key, err := ed25519.GenerateKey(rand.Reader)
			return key, err
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			key := must.Get(tc.key())(t)
			template := &x509.Certificate{SerialNumber: big.NewInt(1)}
			der := must.Get(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))(t)
			_, err := verify.ReadCertificate(der)
			expect.That(t, (err == nil) == tc.accepted, "%v", err)
		})
	}
}

// An expired document is verified as of its expiry. A document that is invalid for another reason is invalid then too.
func TestPredecessor(t *testing.T) {
	w := inWorld(t)
	doc := w.sealed(t, w.until(week), set{})
	verified := must.Get(w.verifier(t, nil, nil).Verify(doc, w.now))(t)
	withdrawn := func(c *trust.Config) {
		c.Revoked = []trust.RevocationConfig{{MessageDigest: verified.Facts().MessageDigest}}
	}
	strangers := func(c *trust.Config) { c.Authorities[0].Subject = "nobody@acme.example" }
	for name, tc := range map[string]struct {
		policy func(*trust.Config)
		after  time.Duration
		want   string
	}{
		"that counts":              {nil, 0, ""},
		"that has ended":           {nil, 2 * week, ""},
		"withdrawn":                {withdrawn, 0, verify.ReasonWithdrawn},
		"withdrawn, and has ended": {withdrawn, 2 * week, verify.ReasonWithdrawn},
		"by somebody else":         {strangers, 2 * week, verify.ReasonWrongIdentity},
	} {
		t.Run(name, func(t *testing.T) {
			message, err := w.verifier(t, tc.policy, nil).Predecessor(doc, w.now.Add(tc.after))
			expect.Is(t, "reason", tc.want, reasonIn(t, err))
			if tc.want != "" {
				expect.Failure(message, err)(t)
			} else if message.Identity() != doc.Identity() || message.Annotation("cosign.sigstore.dev/message") != "" {
				t.Errorf("%v, %v", message, err)
			}
		})
	}
}

// TestForesee: a message is rejected before it is signed if its signature would be, but it may start later.
func TestForesee(t *testing.T) {
	w := inWorld(t)
	cert := certificateOf(t, readSeal(t, w.honest).Signatures[0])
	id := must.Get(verify.IdentityOf(cert))(t)
	later := replaced(t, w.until(week), "    polex.dev/expires-at", fmt.Sprintf("    polex.dev/starts-at: %q\n    polex.dev/expires-at", w.now.Add(time.Hour).UTC().Format(time.RFC3339)))
	for name, tc := range map[string]struct {
		text   string
		policy func(*trust.Config)
		want   string
	}{
		"valid":         {text: w.until(week)},
		"starts later":  {text: later},
		"expired":       {w.until(-day), nil, verify.ReasonExpired},
		"another kind":  {w.until(week), func(c *trust.Config) { c.Kinds = []string{"ConfigMap"} }, verify.ReasonKindNotAllowed},
		"by a stranger": {w.until(week), func(c *trust.Config) { c.Authorities[0].Subject += "x" }, verify.ReasonWrongIdentity},
		"too long":      {w.until(week), func(c *trust.Config) { c.MaxLifetime = "1d" }, verify.ReasonLifetimeTooLong},
	} {
		expect.Is(t, name, tc.want, reasonIn(t, w.verifier(t, tc.policy, nil).Foresee(parse(t, tc.text), id, cert, w.now)))
	}
}

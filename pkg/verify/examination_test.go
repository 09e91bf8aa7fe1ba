package verify_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
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
	key := newKey()
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
		{forged(set{selfSigned: asFulcio})(t, w), verify.ReasonUntrustedCertificate},
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
	withdrawn := revoked(trust.RevocationConfig{MessageDigest: verified.Facts().MessageDigest})
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
	cert := must.Get(x509.ParseCertificate(readSeal(t, w.honest).Signatures[0].Certificate))(t)
	id := must.Get(verify.IdentityOf(cert))(t)
	later := swapped(w.until(week), "    polex.dev/expires-at", fmt.Sprintf("    polex.dev/starts-at: %q\n    polex.dev/expires-at", w.now.Add(time.Hour).UTC().Format(time.RFC3339)))
	for name, tc := range map[string]struct {
		text   string
		policy func(*trust.Config)
		want   string
	}{
		"valid":         {text: w.until(week)},
		"starts later":  {text: later},
		"expired":       {w.until(-day), nil, verify.ReasonExpired},
		"another kind":  {w.until(week), kinds("ConfigMap"), verify.ReasonKindNotAllowed},
		"by a stranger": {w.until(week), func(c *trust.Config) { c.Authorities[0].Subject += "x" }, verify.ReasonWrongIdentity},
		"too long":      {w.until(week), atMost("1d"), verify.ReasonLifetimeTooLong},
	} {
		expect.Is(t, name, tc.want, reasonIn(t, w.verifier(t, tc.policy, nil).Foresee(parse(t, tc.text), id, cert, w.now)))
	}
}

// afterEvidence are the reasons after the verification of every signature.
var afterEvidence = []string{verify.ReasonBadMessage, verify.ReasonWrongIdentity, verify.ReasonTooFewAuthorities, verify.ReasonBeyondLimits,
	verify.ReasonRenewalNotAllowed, verify.ReasonAltered, verify.ReasonBadLifetime,
	verify.ReasonNoExpiry, verify.ReasonExpired, verify.ReasonLifetimeTooLong, verify.ReasonNotYetValid, verify.ReasonSignedInFuture, verify.ReasonWithdrawn}

// checkFacts: the facts of a rejection are exactly the verified ones.
func checkFacts(t *testing.T, doc *exception.Document, rejected *verify.Rejected) {
	t.Helper()
	facts := rejected.Facts
	s, err := seal.Read(doc)
	if err != nil {
		s = &seal.Seal{}
	}
	if len(facts.Signatures) == 0 {
		early := rejected.Reason == verify.ReasonWrongIdentity && len(s.Signatures) > 1
		if !cmp.Equal(facts, verify.Facts{}) || slices.Contains(afterEvidence, rejected.Reason) && !early {
			t.Errorf("%s: no signature was verified, and there are the facts %+v", rejected.Reason, facts)
		}
		return
	}
	after := slices.Contains(afterEvidence, rejected.Reason) || rejected.Reason == verify.ReasonNoWitnessedTime
	if after != (len(facts.Signatures) == len(s.Signatures)) {
		t.Errorf("%s, with %d of %d signatures verified", rejected.Reason, len(facts.Signatures), len(s.Signatures))
	}
	expect.Is(t, "the digest of the message", sum(s.Message), facts.MessageDigest)
	for i, signature := range facts.Signatures {
		expect.That(t, (s.Signatures[i].Certificate == nil) == (signature.Certificate == verify.Certificate{}),
			"signature %d: %+v", i, signature.Certificate)
		if raw := s.Signatures[i].Certificate; raw != nil && signature.Certificate.Fingerprint != sum(raw) {
			t.Errorf("signature %d: the certificate is %s", i, signature.Certificate.Fingerprint)
		}
	}
}

func sum(raw []byte) string {
	digest := sha256.Sum256(raw)
	return "sha256:" + hex.EncodeToString(digest[:])
}

// TestFacts compares the facts of a document with the known values.
func TestFacts(t *testing.T) {
	w := inWorld(t)
	s := readSeal(t, w.honest)
	cert := must.Get(x509.ParseCertificate(s.Signatures[0].Certificate))(t)
	signedAt := time.Unix(s.Signatures[0].Bundle.Payload.IntegratedTime, 0)
	expires := must.Get(time.Parse(
		time.RFC3339, parse(t, string(s.Message)).Annotation(exception.AnnotationExpiresAt)))(t)
	signature := verify.Signature{
		Authority: "merge", WitnessedAt: signedAt, LogURL: w.RekorURL, LogIndex: s.Signatures[0].Bundle.Payload.LogIndex,
		Identity:    trust.Identity{Issuer: w.IssuerURL, Subject: subject, Type: "uri"},
		Witnesses:   []verify.Witness{{Kind: verify.WitnessLog, URL: w.RekorURL, At: signedAt}},
		Certificate: verify.Certificate{Fingerprint: sum(s.Signatures[0].Certificate), NotBefore: cert.NotBefore, NotAfter: cert.NotAfter},
		Checked:     []string{"certificate-chain", "sct", "signed-entry-timestamp", "inclusion-proof"},
	}
	everything := verify.Facts{MessageDigest: sum(s.Message), Signatures: []verify.Signature{signature}, ExpiresAt: expires}
	nobody := everything
	nobody.ExpiresAt, nobody.Signatures = time.Time{}, []verify.Signature{signature}
	nobody.Signatures[0].Authority = ""
	counted := everything
	counted.ExpiresAt = time.Time{}

	for name, tc := range map[string]struct {
		doc    maker
		policy func(*trust.Config)
		after  time.Duration
		reason string
		want   verify.Facts
	}{
		"verified": {doc: honest, want: everything},
		"expired":  {doc: honest, after: 8 * day, reason: verify.ReasonExpired, want: everything},
		"withdrawn": {doc: honest, reason: verify.ReasonWithdrawn, want: everything,
			policy: revoked(trust.RevocationConfig{MessageDigest: sum(s.Message)})},
		"too long":      {doc: honest, reason: verify.ReasonLifetimeTooLong, want: everything, policy: atMost("1d")},
		"altered":       {doc: changed(func(t *testing.T, root object) { dig(t, root, "metadata")["name"] = "other" }), reason: verify.ReasonAltered, want: counted},
		"by a stranger": {doc: honest, reason: verify.ReasonWrongIdentity, want: nobody, policy: func(c *trust.Config) { c.Authorities[0].Subject += "x" }},
		"unsigned":      {doc: unsigned, reason: verify.ReasonUnsigned},
		"bad signature": {doc: forged(set{signature: []byte("x")}), reason: verify.ReasonBadSignature},
	} {
		t.Run(name, func(t *testing.T) {
			verified, err := w.verifier(t, tc.policy, nil).Verify(tc.doc(t, w), w.now.Add(tc.after))
			var got verify.Facts
			if rejected := answers(t, verified, err, tc.reason); rejected != nil {
				got = rejected.Facts
			} else {
				got = verified.Facts()
			}
			expect.Equal(t, "facts", tc.want, got, cmpopts.IgnoreFields(trust.Identity{}, "Claims"),
				cmpopts.IgnoreUnexported(verify.Signature{}), cmpopts.EquateApproxTime(0))
			for _, signature := range got.Signatures {
				if signature.Identity.Claims["buildTrigger"] != "push" || signature.Identity.Claims["runInvocationURI"] == "" {
					t.Errorf("claims: %q", signature.Identity.Claims)
				}
			}
		})
	}
}

// TestFactsOfSome: if one of several signatures is invalid, the facts are those of the ones before
// it, and no signature has an authority.
func TestFactsOfSome(t *testing.T) {
	w := inWorld(t)
	verified, err := w.verifier(t, nil, nil).Verify(forged(set{stamps: []time.Time{w.now}}, set{signature: []byte("x")})(t, w), w.now)
	rejected := answers(t, verified, err, verify.ReasonBadSignature)
	if rejected == nil || len(rejected.Facts.Signatures) != 1 {
		t.Fatal(err)
	}
	only := rejected.Facts.Signatures[0]
	if only.Authority != "" || only.Identity.Subject != subject || !rejected.Facts.ExpiresAt.IsZero() {
		t.Errorf("%+v", rejected.Facts)
	}
	if len(only.Witnesses) != 2 || only.Witnesses[1].Kind != verify.WitnessTimestamp || only.Witnesses[0].Kind != verify.WitnessLog {
		t.Errorf("the witnesses are %+v", only.Witnesses)
	}
}

// TestRemembering verifies every case of its policy and root with one Verifier, forwards, backwards
// and again. No verdict depends on earlier ones.
func TestRemembering(t *testing.T) {
	w := inWorld(t)
	v, signatures := w.verifier(t, nil, nil), w.verifier(t, nil, nil)
	signatures.Remember(nil)
	var cases []verdict
	for _, tc := range verdicts(w) {
		if tc.policy == nil && tc.root == nil && tc.file == nil {
			doc := tc.doc(t, w)
			tc.doc = func(*testing.T, *world) *exception.Document { return doc }
			cases = append(cases, tc)
		}
	}
	backwards := slices.Clone(cases)
	slices.Reverse(backwards)
	for _, tc := range slices.Concat(cases, backwards, cases) {
		t.Run(tc.name, func(t *testing.T) {
			judge(t, v, tc.doc(t, w), w.now.Add(tc.after), tc.want)
			judge(t, signatures, tc.doc(t, w), w.now.Add(tc.after), tc.want)
		})
	}
}

// TestRememberedUnderItsRoot: a verified signature is remembered for another trust policy with the
// same root, and that policy decides everything else. It is not remembered for another root.
func TestRememberedUnderItsRoot(t *testing.T) {
	w := inWorld(t)
	before := w.verifier(t, nil, nil)
	before.Remember(nil)
	judge(t, before, w.honest, w.now, "")
	for name, tc := range map[string]struct {
		policy func(*trust.Config)
		root   func(object)
		known  int
		want   string
	}{
		"the same policy":              {nil, nil, 1, ""},
		"another signer":               {func(c *trust.Config) { c.Authorities[0].Subject = "https://example.com/another" }, nil, 1, verify.ReasonWrongIdentity},
		"a shorter lifetime":           {atMost("1h"), nil, 1, verify.ReasonLifetimeTooLong},
		"without the kind":             {kinds("ConfigMap"), nil, 1, verify.ReasonKindNotAllowed},
		"an authority ended":           {nil, window("certificateAuthorities", 0, "end", w.now.Add(-week)), 0, verify.ReasonUntrustedCertificate},
		"an authority that ends later": {nil, window("certificateAuthorities", 0, "end", w.now.Add(1000*week)), 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			v := w.verifier(t, tc.policy, tc.root)
			v.Remember(before)
			expect.Is(t, "signatures", tc.known, v.Proven())
			judge(t, v, w.honest, w.now, tc.want)
		})
	}
}

// TestRememberedTimestamps: the timestamps of a remembered signature count like those of a new one.
func TestRememberedTimestamps(t *testing.T) {
	w := inWorld(t)
	stamps := []time.Time{w.now, w.now}
	message, doc := []byte(w.until(week)), parse(t, w.until(week))
	trusted, stranger := w.sign(t, message, set{stamps: stamps}), w.sign(t, message, set{identity: w.otherIssuer, stamps: stamps[:1]})
	signed := func(signatures ...seal.Signature) *exception.Document {
		return attach(t, doc, &seal.Seal{Message: message, Signatures: signatures})
	}
	v := w.verifier(t, nil, nil)
	v.Remember(nil)
	judge(t, v, signed(trusted, stranger), w.now, verify.ReasonWrongIdentity)
	judge(t, v, signed(trusted), w.now, "")
	judge(t, v, signed(trusted, stranger), w.now, verify.ReasonWrongIdentity)
}

// TestRememberedIsNobodysElse: changing one answer does not change another one.
func TestRememberedIsNobodysElse(t *testing.T) {
	w := inWorld(t)
	v := w.verifier(t, nil, nil)
	v.Remember(nil)
	var said []string
	for range 3 {
		verified := must.Get(v.Verify(w.honest, w.now))(t)
		s := verified.Signatures()[0]
		said = append(said, fmt.Sprint(s.Checked, s.Witnesses, s.WitnessedAt, s.LogURL, s.LogIndex, s.Identity, s.Certificate))
		clear(s.Checked)
		clear(s.Witnesses)
	}
	expect.That(t, v.Proven() == 1 && said[1] == said[0] && said[2] == said[0],
		"%d are remembered: %q", v.Proven(), said)
}

// TestRememberedForItsTimeAlone: a certificate that is valid at one time is not accepted for
// another time. Nor is another certificate for its key.
func TestRememberedForItsTimeAlone(t *testing.T) {
	w := inWorld(t)
	v := w.verifier(t, nil, nil)
	key := newKey()
	der := must.Get(w.ForgeCertificate(t.Context(), w.forgery(t, key, nil)))(t)
	cert := must.Get(x509.ParseCertificate(der))(t)
	same := func(at time.Time) *exception.Document {
		return forged(set{key: key, at: at, certificate: func(*ecdsa.PrivateKey) []byte { return der }})(t, w)
	}
	selfMade, unlogged := forged(set{key: key, selfSigned: asFulcio})(t, w), forged(set{key: key, fulcio: noSCT})(t, w)
	good := same(w.now)
	ending := w.verifier(t, nil, window("certificateAuthorities", 0, "end", w.now.Add(time.Minute)))
	for range 2 {
		judge(t, ending, good, w.now, "")
		judge(t, ending, same(w.now.Add(2*time.Minute)), w.now, verify.ReasonUntrustedCertificate)
		judge(t, v, good, w.now, "")
		judge(t, v, same(cert.NotAfter), w.now, "")
		judge(t, v, same(cert.NotAfter.Add(time.Second)), w.now.Add(time.Hour), verify.ReasonCertificateNotValid)
		judge(t, v, same(cert.NotBefore.Add(-time.Second)), w.now, verify.ReasonCertificateNotValid)
		judge(t, v, selfMade, w.now, verify.ReasonUntrustedCertificate)
		judge(t, v, unlogged, w.now, verify.ReasonNoSCT)
	}
}

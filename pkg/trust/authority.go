package trust

import (
	"crypto"
	"errors"
	"fmt"
	"strings"

	"github.com/polex-dev/polex/pkg/trust/policyfile"
)

// Authority is a trusted signer: a keyless identity or a public key. Evidence of one type never
// counts for the other.
type Authority struct {
	name   string
	limits policyfile.Limits

	issuer  string
	subject *policyfile.Subject
	claims  map[string]policyfile.OneOf
	commit  bool

	key        *publicKey
	withoutLog bool
}

// Name returns the name of the authority in reports.
func (a *Authority) Name() string { return a.name }

// String describes the signers that the authority stands for, in one line.
func (a *Authority) String() string {
	if a.key != nil {
		return fmt.Sprintf("public key sha256:%x", a.key.fingerprint)
	}
	text := a.subject.Exact.String()
	if a.subject.Pattern != nil {
		text = fmt.Sprintf("subjects that match %s", a.subject.Pattern)
	}
	text += ", issuer " + a.issuer
	for _, name := range policyfile.Claims {
		if want, required := a.claims[name]; required {
			text += fmt.Sprintf(", %s %s", name, want)
		}
	}
	return text
}

// Exceeded names the first limit of the authority that a document exceeds and the found value, or
// returns "".
func (a *Authority) Exceeded(e policyfile.Scope) string { return a.limits.Exceeded(e) }

// RequiresCommit reports whether the commit of the run must contain the exception.
func (a *Authority) RequiresCommit() bool { return a.commit }

// Requires reports whether the authority requires a claim.
func (a *Authority) Requires(claim string) bool {
	_, required := a.claims[claim]
	return required
}

// Key returns the authority's public key, or nil when it signs by certificates.
func (a *Authority) Key() crypto.PublicKey {
	if a.key == nil {
		return nil
	}
	return a.key.key
}

// Keyless returns the required values of a certificate, or nothing for a key.
func (a *Authority) Keyless() (issuer string, subject *policyfile.Subject, claims map[string]policyfile.OneOf) {
	return a.issuer, a.subject, a.claims
}

// Limits returns the limits of the documents that the authority may sign.
func (a *Authority) Limits() policyfile.Limits { return a.limits }

// SameKey reports whether two authorities have one public key.
func (a *Authority) SameKey(other *Authority) bool {
	return a.key != nil && other.key != nil && a.key.fingerprint == other.key.fingerprint
}

// WithoutLog reports whether signatures of the key count without a log entry.
func (a *Authority) WithoutLog() bool { return a.withoutLog }

// Identity is the identity in a verified certificate.
type Identity struct {
	Issuer  string // the OIDC issuer that authenticated the subject
	Subject string
	// Type is the type of the subject alternative name: "uri" or "email".
	Type   string
	Claims map[string]string // Fulcio's extensions, from [Claims]
}

// Signer returns a text that identifies the signer. One signer counts once, also with several
// certificates.
func (id Identity) Signer() string { return "keyless " + id.Issuer + " " + id.Subject }

// Matches reports whether an identity is the authority's. If not, why states the expected and the
// found value.
func (a *Authority) Matches(id Identity) (is bool, why string) {
	is, why = a.matches(id)
	if !is && strings.HasPrefix(id.Claims["sourceRepositoryRef"], policyfile.QueueRef) {
		why += "; a merge queue signed it before the merge: sign in the run on the branch after it"
	}
	return is, why
}

func (a *Authority) matches(id Identity) (is bool, why string) {
	switch {
	case a.key != nil:
		return false, "it signs with a key"
	case id.Issuer != a.issuer:
		return false, fmt.Sprintf("its issuer is %q, not %q", id.Issuer, a.issuer)
	}
	if is, why := a.subject.Matches(id.Subject, id.Type); !is {
		return false, why
	}
	for _, name := range policyfile.Claims {
		if want, required := a.claims[name]; required && !want.Has(id.Claims[name]) {
			return false, fmt.Sprintf("its claim %s is %q, not %s", name, id.Claims[name], want.Quoted())
		}
	}
	return true, ""
}

// signer returns the [Identity.Signer] of the only possible signer for the authority, or "" if
// several signers are possible.
func (a *Authority) signer() string {
	switch {
	case a.key != nil:
		return fmt.Sprintf("key %x", a.key.fingerprint)
	case a.subject.Exact.Only() == "":
		return ""
	default:
		return Identity{Issuer: a.issuer, Subject: a.subject.Exact.Only()}.Signer()
	}
}

func newAuthority(c AuthorityConfig, checked policyfile.Authority) (*Authority, error) {
	a := &Authority{name: checked.Name, limits: checked.Limits, issuer: checked.Issuer, subject: checked.Subject,
		claims: checked.Claims, commit: c.RequireCommit, withoutLog: c.InsecureWithoutLog}
	var err error
	switch {
	case c.KeyFile != "":
		return nil, errors.New("the file that it names was not read")
	case c.Key != "":
		a.key, err = parseKey(c.Key)
	}
	return a, err
}

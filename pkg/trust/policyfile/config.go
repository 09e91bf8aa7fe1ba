package policyfile

import (
	"fmt"
	"slices"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
)

// The header of a file with a trust policy. The rest of the file is a [Config].
const (
	apiVersion = "polex.dev/v1alpha1"
	policyKind = "TrustPolicy"
	configKind = "Config"
)

// Config is an unchecked trust policy: from a file of kind TrustPolicy, from the section trust of
// .polex.yaml, or from the flags of a command. The zero value trusts no signer.
type Config struct {
	// Source is the file of the policy, for errors; "" if it has none.
	Source string `json:"-"`
	// Locate returns the position of a key in that file, for errors; nil if there is no file.
	Locate func(at ...any) exception.Position `json:"-"`

	// TrustedRoot is the path of a trusted_root.json. "" means the embedded root of the public-good
	// Sigstore.
	TrustedRoot string `json:"trustedRoot"`

	// Threshold is the number of distinct authorities that must sign; 0 means 1.
	Threshold int `json:"threshold"`

	// Groups require signers of certain authorities. Every group and the threshold must be met.
	Groups []GroupConfig `json:"groups"`

	Authorities []AuthorityConfig `json:"authorities"`

	// Kinds are the accepted kinds, as "Kind.group". An empty list means PolicyException of both
	// groups, "*" means any kind.
	Kinds []string `json:"kinds"`

	// MaxLifetime is the maximum time from signing to expiry, such as 90d; "" sets no maximum.
	MaxLifetime string `json:"maxLifetime" format:"duration"`

	// Lifetimes are shorter maximum lifetimes for some documents.
	Lifetimes []LifetimeConfig `json:"lifetimes"`

	// Renewals restrict exceptions that renew another one; nil sets no further limit.
	Renewals *RenewalsConfig `json:"renewals"`

	// InsecureAllowUnbounded accepts exceptions that never expire.
	InsecureAllowUnbounded bool `json:"allowUnbounded"`

	ExpiryConfig

	Revoked []RevocationConfig `json:"revoked"`

	// AllowedMetadata is the metadata that tools may add to a signed object.
	AllowedMetadata AllowedMetadata `json:"allowedMetadata"`
}

// Files returns the paths of the files that the policy names: the trusted root and the keys.
func (c Config) Files() []string {
	files := []string{c.TrustedRoot}
	for _, a := range c.Authorities {
		files = append(files, a.KeyFile)
	}
	return slices.DeleteFunc(files, func(path string) bool { return path == "" })
}

// ExpiryConfig lists the keys that state an expiry, and the exceptions that need none.
type ExpiryConfig = lifetime.Config

// Grandfather gives an expiry to one exception that states none. All other rules still apply.
type Grandfather = lifetime.Grandfather

// Located adds the position of a key to an error about its value.
func (c Config) Located(err error, at ...any) error {
	if err == nil || c.Locate == nil {
		return err
	}
	return fmt.Errorf("%s: %w", c.Locate(at...), err)
}

// Called names an authority in errors about it.
func (c AuthorityConfig) Called(index int) string {
	switch {
	case c.Source != "":
		return c.Source
	case c.Name == "":
		return fmt.Sprintf("authority %d", index+1)
	}
	return fmt.Sprintf("authority %d %q", index+1, c.Name)
}

// AuthorityConfig is a trusted signer. A workflow of GitHub Actions has GitHub. Another keyless
// identity has Issuer, Subject or SubjectRegexp, and Claims. A public key has Key.
type AuthorityConfig struct {
	// Source names the authority in errors: by its position in a file, or by the flag that set it.
	// "" names it by its number.
	Source string `json:"-"`

	// Name is the name of the authority in reports, unique in a policy. The default is the subject
	// or its pattern, the first repository of GitHub, or "key" for a key.
	Name string `json:"name"`

	// GitHub is a workflow of GitHub Actions; nil for other signers.
	GitHub *GitHubConfig `json:"github,omitempty"`

	// Issuer is the exact address of the OIDC issuer. With GitHub, the default is
	// https://token.actions.githubusercontent.com.
	Issuer string `json:"issuer"`
	// Subject is the exact subject alternative name of the certificate: a URI (with "://") or a
	// mail address (with "@").
	Subject string `json:"subject"`
	// SubjectRegexp is a regular expression (RE2) for the whole subject, at most 1,024 characters.
	// It must begin with a literal scheme, host and slash, or end with "@" and a literal mail
	// domain. Dots in the host and domain mean dots.
	SubjectRegexp string `json:"subjectRegexp"`
	// Claims are further extensions of Fulcio certificates with their allowed values. The names are
	// those in Fulcio's documentation, in lower camel case (sourceRepositoryURI, buildTrigger, …).
	Claims map[string]Values `json:"claims"`
	// RequireCommit requires that the commit of the run (sourceRepositoryDigest) contains the
	// exception under unsigned/ or signed/. Promotion and audit, which have the repository, check
	// it; verification without a repository does not.
	RequireCommit bool `json:"requireCommit,omitempty"`

	// Key is a public key in PEM, KeyFile the path of a key.
	Key     string `json:"key"`
	KeyFile string `json:"keyFile"`
	// InsecureWithoutLog accepts signatures of the key without a transparency log entry. They have
	// no proven time.
	InsecureWithoutLog bool `json:"insecureWithoutLog"`

	// Limits restrict the documents that the authority may sign; nil sets no limit. A document must meet every limit
	// that is set. It does not meet a limit if it lacks the value or the value is unreadable.
	Limits *Selectors `json:"limits"`

	_ struct{} `formerly:"certificateAuthority certificateAuthorityFile" instead:"run a Fulcio on your certificate authority and name it in trustedRoot, or name a key: docs/how-to/private-sigstore.md"`
}

// Selectors choose documents. Nil selects all. [AuthorityConfig] and [LifetimeConfig] say what counts if a document
// does not state a value, or states it unreadably.
type Selectors struct {
	// Kinds are written as in [Config]. There is no default.
	Kinds []string `json:"kinds"`
	// Namespaces are values of metadata.namespace: names, or patterns in which * is any text.
	Namespaces []string `json:"namespaces"`
	// ExemptedNamespaces are the namespaces in which an exception exempts resources. Of match conditions,
	// only comparisons of object.metadata.namespace with literals count.
	ExemptedNamespaces []string `json:"exemptedNamespaces"`
	// Policies are the policies that an exception names, as names or patterns. A namespaced policy is
	// <namespace>/<name>; * alone includes those.
	Policies []string `json:"policies"`

	_ struct{} `formerly:"maxLifetime" instead:"write max in a rule of trust.lifetimes, which can name the authority"`
	_ struct{} `formerly:"renewals" instead:"use trust.renewals"`
}

// RenewalsConfig restricts exceptions that renew another one. The exception itself states that it
// is a renewal, and promotion has compared it with its predecessor.
type RenewalsConfig struct {
	// Max is the maximum number of renewals in a row, up to 998; 0 sets no limit.
	Max int `json:"max"`
	// MaxLifetime is the maximum time from signing to the expiry of a renewal; "" sets no limit. A
	// renewal then needs an expiry, even if AllowUnbounded is set.
	MaxLifetime string `json:"maxLifetime" format:"duration"`
	// Require lists the statements that a renewal needs beside those of shape.require. Validation
	// and promotion check them.
	Require []string `json:"require"`
	// RequireApprovals is the minimum number of approvers in the review record, up to 100; 0
	// requires none.
	RequireApprovals int `json:"requireApprovals"`
	// RequireNewApprover requires an approver besides those of the renewed exception. Promotion
	// checks it.
	RequireNewApprover bool `json:"requireNewApprover"`
}

// GroupConfig requires a number of distinct authorities from a list.
type GroupConfig struct {
	Name        string   `json:"name"`
	Threshold   int      `json:"threshold"`
	Authorities []string `json:"authorities"` // by name; an authority can be in one group only
}

// LifetimeConfig is a maximum lifetime for the documents that match all of its selectors, or may do so. At least
// one selector is set. If several rules match a document, the shortest maximum counts. A document that a rule
// matches needs an expiry, even if AllowUnbounded is set.
type LifetimeConfig struct {
	// Authorities are the names of authorities. The rule is then about their signatures alone: one that
	// lasts longer does not count.
	Authorities []string `json:"authorities"`
	Selectors
	Max string `json:"max" format:"duration"`
}

// RevocationConfig revokes one of three: a message, a certificate, or the signatures of an
// authority before a time.
type RevocationConfig struct {
	// MessageDigest is "sha256:" and the hexadecimal digest of a signed message.
	MessageDigest string `json:"messageDigest"`
	// Certificate is "sha256:" and the hexadecimal digest of a signing certificate's DER, its
	// fingerprint.
	Certificate string `json:"certificate"`
	// Authority and SignedBefore (RFC 3339) revoke every signature that the authority made before
	// the time, or may have made. The latter are all signatures by a key, and those by a
	// certificate that does not bind the time (see trust.MaxBindingValidity) and was valid before it.
	Authority    string `json:"authority"`
	SignedBefore string `json:"signedBefore"`
	// Because is the reason, for readers.
	Because string `json:"because"`
}

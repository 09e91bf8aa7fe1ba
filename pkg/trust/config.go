package trust

import "github.com/polex-dev/polex/internal/lifetime"

// The header of a trust policy that is a file of its own. What else stands in
// such a file is a [Config].
const (
	apiVersion = "polex.dev/v1alpha1"
	policyKind = "TrustPolicy"
	configKind = "Config"
)

// Config is a trust policy as it is written: a file of kind TrustPolicy, the
// trust section of .polex.yaml, or what the flags of a command add up to. Its
// zero value trusts nobody.
type Config struct {
	// TrustedRoot is the path of a trusted_root.json, or "" for the
	// public-good Sigstore that is embedded.
	TrustedRoot string `json:"trustedRoot"`

	// Threshold is how many distinct authorities have to sign; 0 means 1.
	Threshold int `json:"threshold"`

	// Groups are met one by one, and the threshold besides.
	Groups []GroupConfig `json:"groups"`

	Authorities []AuthorityConfig `json:"authorities"`

	// Kinds are the kinds that may be accepted, "Kind.group"; none means
	// PolicyException of both groups, "*" any.
	Kinds []string `json:"kinds"`

	// MaxLifetime is the longest time between signing and expiry, such as 90d;
	// "" sets no maximum.
	MaxLifetime string `json:"maxLifetime"`

	// Lifetimes are shorter maxima for some documents.
	Lifetimes []LifetimeConfig `json:"lifetimes"`

	// InsecureAllowUnbounded accepts an exception that never expires.
	InsecureAllowUnbounded bool `json:"allowUnbounded"`

	ExpiryConfig

	Revoked []RevocationConfig `json:"revoked"`

	// AllowedMetadata is what may be added to an object after it was signed.
	AllowedMetadata AllowedMetadata `json:"allowedMetadata"`
}

// ExpiryConfig says where exceptions state their expiry, and which ones do without.
type ExpiryConfig = lifetime.Config

// Grandfather gives an expiry to one exception that states none. It waives nothing else.
type Grandfather = lifetime.Grandfather

// AuthorityConfig is someone whose signature counts: a keyless identity (Issuer,
// and Subject or SubjectRegexp, and Claims), whom a certificate authority of
// one's own names (CertificateAuthority, and Subject or SubjectRegexp), or a
// public key.
type AuthorityConfig struct {
	// Name is what reports call the authority; it is unique in a policy. The
	// default is the subject or its pattern, and "key" for a key.
	Name string `json:"name"`

	// Issuer is the exact address of the OIDC issuer.
	Issuer string `json:"issuer"`
	// Subject is the exact subject alternative name of the certificate: an
	// address, which holds "://", or a mailbox, which holds "@".
	Subject string `json:"subject"`
	// SubjectRegexp is a regular expression (RE2) that the whole of the subject
	// matches. It says literally where its subjects live: it begins with scheme,
	// host and a slash, or ends with "@" and the domain of the mailboxes. Dots in
	// host and domain mean dots.
	SubjectRegexp string `json:"subjectRegexp"`
	// Claims are further extensions of Fulcio's certificates, each with the
	// exact value it must have, under the names of Fulcio's documentation in
	// lower camel case (sourceRepositoryURI, buildTrigger, …).
	Claims map[string]string `json:"claims"`

	// Key is a public key in PEM, KeyFile the path of one.
	Key     string `json:"key"`
	KeyFile string `json:"keyFile"`
	// InsecureWithoutLog accepts the key's signature without an entry in a
	// transparency log, and thus without a witnessed time.
	InsecureWithoutLog bool `json:"insecureWithoutLog"`

	// CertificateAuthority is a chain of certificates in PEM: the one that issues
	// first, the self-signed root last. CertificateAuthorityFile is the path of
	// one.
	CertificateAuthority     string `json:"certificateAuthority"`
	CertificateAuthorityFile string `json:"certificateAuthorityFile"`

	// Limits are what the authority may sign; nil is anything.
	Limits *LimitsConfig `json:"limits"`
}

// LimitsConfig is what one authority may sign. A document has to be within each
// limit that is set; one that cannot be read for it is not.
type LimitsConfig struct {
	// Kinds are written as those of [Config], and never left to a default.
	Kinds []string `json:"kinds"`
	// Namespaces are where the document may stand: names, or patterns in which *
	// is any text.
	Namespaces []string `json:"namespaces"`
	// ExemptedNamespaces are what a kyverno.io exception may exempt resources in:
	// each of its filters has to name namespaces, and these alone. An exception of
	// policies.kyverno.io cannot show it, and is beyond this limit.
	ExemptedNamespaces []string `json:"exemptedNamespaces"`
	// Policies are what an exception may be from, as names or patterns; those with
	// a namespace are <namespace>/<name>, and * alone means these too.
	Policies []string `json:"policies"`
	// MaxLifetime is the longest time from the authority's own signature to the
	// expiry.
	MaxLifetime string `json:"maxLifetime"`
	// Renewals are for an exception that says it renews another; nil asks no more of it
	// than of any.
	Renewals *RenewalLimitsConfig `json:"renewals"`
}

// RenewalLimitsConfig is what one authority may sign of exceptions that say that they
// renew another, besides what its other limits say. An exception is a renewal by its
// own word, which whoever signs it has held against the predecessor.
type RenewalLimitsConfig struct {
	// Forbid leaves none. It is set alone.
	Forbid bool `json:"forbid"`
	// Max is how many there may be in a row, up to 998; 0 sets no limit.
	Max int `json:"max"`
	// MaxLifetime is the longest time from the authority's own signature to the expiry
	// of a renewal; "" sets no limit.
	MaxLifetime string `json:"maxLifetime"`
	// RequireApprovals is how many people the record in a renewal has to name as having
	// approved it, up to 100; 0 asks for none.
	RequireApprovals int `json:"requireApprovals"`
}

// GroupConfig asks for a number of distinct authorities out of some.
type GroupConfig struct {
	Name        string   `json:"name"`
	Threshold   int      `json:"threshold"`
	Authorities []string `json:"authorities"` // by name; nobody is in two groups
}

// LifetimeConfig is a maximum for the documents that all of its selectors speak
// of; at least one is set. Where several speak of a document, the shortest
// counts. A document that it speaks of needs an end, whatever else is allowed.
type LifetimeConfig struct {
	// Policies speak of an exception that is from one of these, or may be.
	Policies []string `json:"policies"`
	// Namespaces speak of a document that stands in one of these, or may do.
	Namespaces []string `json:"namespaces"`
	Kinds      []string `json:"kinds"`
	Max        string   `json:"max"`
}

// RevocationConfig withdraws one of three: a message, a certificate, or what an
// authority signed before a time.
type RevocationConfig struct {
	// MessageDigest is "sha256:" and the hexadecimal digest of a signed message.
	MessageDigest string `json:"messageDigest"`
	// Certificate is "sha256:" and the hexadecimal digest of a signing
	// certificate's DER, its fingerprint.
	Certificate string `json:"certificate"`
	// Authority and SignedBefore (RFC 3339) withdraw every signature that the
	// authority made before the time, or may have made: those by a certificate that
	// does not bind the time (see [MaxBindingValidity]) and was valid before it, and
	// everything by a key.
	Authority    string `json:"authority"`
	SignedBefore string `json:"signedBefore"`
	// Because is for the reader.
	Because string `json:"because"`
}

package trust

import (
	"fmt"
	"path/filepath"

	"github.com/polex-dev/polex/pkg/exception"
)

// Config is a trust policy as it is written: the trust section of .polex.yaml,
// or what the flags of a command add up to. Its zero value trusts nobody.
type Config struct {
	// TrustedRoot is the path of a trusted_root.json, or "" for the
	// public-good Sigstore that is embedded.
	TrustedRoot string `json:"trustedRoot"`

	// Threshold is how many distinct authorities have to sign; 0 means 1.
	Threshold int `json:"threshold"`

	Authorities []AuthorityConfig `json:"authorities"`

	// Kinds are the kinds that may be accepted, "Kind.group"; none means
	// PolicyException of both groups, "*" any.
	Kinds []string `json:"kinds"`

	// MaxLifetime is the longest time between signing and expiry, such as 90d;
	// "" sets no maximum.
	MaxLifetime string `json:"maxLifetime"`

	// InsecureAllowUnbounded accepts an exception that never expires.
	InsecureAllowUnbounded bool `json:"allowUnbounded"`

	Revoked []RevocationConfig `json:"revoked"`
}

// AuthorityConfig is someone whose signature counts: a keyless identity (Issuer
// and Subject or SubjectRegexp, and Claims), or a public key.
type AuthorityConfig struct {
	// Name is what reports call the authority; it is unique in a policy.
	Name string `json:"name"`

	// Issuer is the exact address of the OIDC issuer.
	Issuer string `json:"issuer"`
	// Subject is the exact subject alternative name of the certificate.
	Subject string `json:"subject"`
	// SubjectRegexp is a regular expression (RE2) that the whole of the subject
	// matches.
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
}

// RevocationConfig withdraws either one message or what an authority signed
// before a time.
type RevocationConfig struct {
	// MessageDigest is "sha256:" and the hexadecimal digest of a signed message.
	MessageDigest string `json:"messageDigest"`
	// Authority and SignedBefore (RFC 3339) withdraw every signature of the
	// authority that was witnessed before the time.
	Authority    string `json:"authority"`
	SignedBefore string `json:"signedBefore"`
	// Because is for the reader.
	Because string `json:"because"`
}

// Read takes a policy from the value at path of a configuration that is already
// parsed. Relative paths in it become relative to dir. A key that a trust
// policy does not know is a *[exception.SyntaxError].
func Read(doc *exception.Document, dir string, path ...any) (Config, error) {
	var c Config
	if err := doc.Decode(&c, path...); err != nil {
		return Config{}, err
	}
	if c.TrustedRoot != "" {
		c.TrustedRoot = relative(dir, c.TrustedRoot)
	}
	for i := range c.Authorities {
		if a := &c.Authorities[i]; a.KeyFile != "" {
			a.KeyFile = relative(dir, a.KeyFile)
		}
	}
	return c, nil
}

func relative(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// Load makes the policy that a configuration describes, with the trusted root
// and the keys that it names. What it names is read here and nowhere else.
func Load(c Config) (*Policy, error) {
	authorities := make([]AuthorityConfig, len(c.Authorities))
	copy(authorities, c.Authorities)
	for i := range authorities {
		if authorities[i].KeyFile == "" {
			continue
		}
		if authorities[i].Key != "" {
			return nil, fmt.Errorf("authority %q: key and keyFile are both set", authorities[i].Name)
		}
		raw, err := readBounded(authorities[i].KeyFile)
		if err != nil {
			return nil, fmt.Errorf("authority %q: read key: %w", authorities[i].Name, err)
		}
		if len(raw) == 0 {
			// Without a key, the authority would be taken for a keyless one.
			return nil, fmt.Errorf("authority %q: key: %s is empty", authorities[i].Name, authorities[i].KeyFile)
		}
		authorities[i].Key, authorities[i].KeyFile = string(raw), ""
	}
	c.Authorities = authorities
	root, err := LoadRoot(c.TrustedRoot)
	if err != nil {
		return nil, err
	}
	return New(c, root)
}

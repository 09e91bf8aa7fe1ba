package lifetime

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
)

// Terms are the settings of a trust policy for reading an expiry. The zero value adds nothing to
// polex's statements and Kyverno's label.
type Terms struct {
	// Keys can also state an expiry: as an annotation, as a label, or in spec.properties.
	Keys []string
	// Grandfathered are the expiries of exceptions without one, by [ContentDigest].
	Grandfathered map[string]time.Time
}

// Config is the written form of [Terms] in a trust policy.
type Config struct {
	// ExpiryKeys are the team's own keys for the expiry of an exception, as an RFC 3339 time or a
	// date (its first second in UTC). They are annotations, labels, or entries of spec.properties
	// in policies.kyverno.io. The earliest of several expiries counts.
	ExpiryKeys []string `json:"expiryKeys"`
	// Grandfathered are exceptions that are accepted without an expiry.
	Grandfathered []Grandfather `json:"grandfathered"`
}

// Grandfather sets the expiry of one exception that states none.
type Grandfather struct {
	// Digest is "sha256:" and the hexadecimal SHA-256 of the exception, as polex-validate prints
	// it.
	Digest string `json:"digest"`
	// Until is the expiry: an RFC 3339 time or a date.
	Until string `json:"until"`
	// Because is a comment for readers.
	Because string `json:"because"`
}

const maxKeys = 16

var digestForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// Terms checks the configuration.
func (c Config) Terms() (Terms, error) {
	if len(c.ExpiryKeys) > maxKeys {
		return Terms{}, fmt.Errorf("expiryKeys: %d keys, expected at most %d", len(c.ExpiryKeys), maxKeys)
	}
	for _, key := range c.ExpiryKeys {
		if err := CheckKey(key); err != nil {
			return Terms{}, fmt.Errorf("expiryKeys: %w", err)
		}
	}
	t := Terms{Keys: c.ExpiryKeys}
	for i, g := range c.Grandfathered {
		until, err := ParseDay(g.Until)
		digest := strings.ToLower(g.Digest)
		_, again := t.Grandfathered[digest]
		switch {
		case !digestForm.MatchString(digest):
			err = fmt.Errorf("digest: %q is not sha256: and 64 hexadecimal digits", g.Digest)
		case err != nil:
			err = fmt.Errorf("until: %w", err)
		case again:
			err = errors.New("digest: it is listed twice")
		}
		if err != nil {
			return Terms{}, fmt.Errorf("grandfathered %d: %w", i+1, err)
		}
		if t.Grandfathered == nil {
			t.Grandfathered = map[string]time.Time{}
		}
		t.Grandfathered[digest] = until
	}
	return t, nil
}

// CheckKey returns an error if a key is not allowed as a team's own key.
func CheckKey(key string) error {
	domain, _, has := strings.Cut(key, "/")
	switch {
	case !exception.IsQualifiedName(key):
		return fmt.Errorf("%q is not the key of an annotation or a label", key)
	case has && Reserved(domain):
		return fmt.Errorf("%q: keys under %s have their own meaning; list only keys of your own", key, domain)
	}
	return nil
}

// Reserved reports whether keys under a domain belong to polex, Kyverno or Sigstore.
func Reserved(domain string) bool {
	for _, of := range []string{"polex.dev", "kyverno.io", "sigstore.dev"} {
		if domain == of || strings.HasSuffix(domain, "."+of) {
			return true
		}
	}
	return false
}

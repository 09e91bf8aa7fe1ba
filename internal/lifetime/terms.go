package lifetime

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
)

// Terms are the part of a trust policy that the reading of an expiry depends on. The zero
// value adds nothing to polex's own statements and Kyverno's label.
type Terms struct {
	// Keys state an expiry too: as an annotation, as a label, or in spec.properties.
	Keys []string
	// Grandfathered are the times at which exceptions without an expiry expire, by
	// [ContentDigest].
	Grandfathered map[string]time.Time
}

// Config is that part of a trust policy as it is written.
type Config struct {
	// ExpiryKeys are keys of the team's own that state the expiry of an exception, as an
	// RFC 3339 time or a date (its first second in UTC): as annotation, as label, or in
	// spec.properties of policies.kyverno.io. Of several expiries, the earliest counts.
	ExpiryKeys []string `json:"expiryKeys"`
	// Grandfathered are exceptions that are accepted without an expiry.
	Grandfathered []Grandfather `json:"grandfathered"`
}

// Grandfather gives an expiry to one exception that states none.
type Grandfather struct {
	// Digest is "sha256:" and the hexadecimal SHA-256 of the exception, as polex-validate
	// prints it.
	Digest string `json:"digest"`
	// Until is when the exception expires: an RFC 3339 time or a date.
	Until string `json:"until"`
	// Because is for the reader.
	Because string `json:"because"`
}

const maxKeys = 16

var digestForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// Terms checks what is written.
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

// CheckKey says why a key cannot be one of the team's own, or returns nil.
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

// Reserved reports whether keys under a domain belong to polex, to Kyverno, or to a
// signature.
func Reserved(domain string) bool {
	for _, of := range []string{"polex.dev", "kyverno.io", "sigstore.dev"} {
		if domain == of || strings.HasSuffix(domain, "."+of) {
			return true
		}
	}
	return false
}

// ReadTerms reads the terms of a trust policy, or of the section trust of a configuration,
// and nothing else of it.
func ReadTerms(doc *exception.Document) (Terms, error) {
	var trust []any
	if doc.Text("kind") == "Config" {
		trust = []any{"trust"}
	}
	var c Config
	for key, into := range map[string]any{"expiryKeys": &c.ExpiryKeys, "grandfathered": &c.Grandfathered} {
		path := append(slices.Clone(trust), key)
		if _, there := doc.Lookup(path...); !there {
			continue
		}
		if err := doc.Decode(into, path...); err != nil {
			return Terms{}, err
		}
	}
	return c.Terms()
}

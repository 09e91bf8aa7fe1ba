// Package trustflags reads the trust policy from a configuration file and from flags. The flags
// have the same names as those of cosign.
package trustflags

import (
	"cmp"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/config"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
)

// Flags are the values of the flags. Flags win over the configuration.
type Flags struct {
	Identity       string
	IdentityRegexp string
	Issuer         string
	Key            string
	TrustedRoot    string
	Kinds          []string
	MaxLifetime    string
	AllowUnbounded bool

	given func(name string) bool
}

// Add adds the flags for trusted keyless signers.
func Add(cmd *cobra.Command) *Flags {
	flags := cmd.Flags()
	f := &Flags{given: flags.Changed}
	flags.StringVar(&f.Identity, "certificate-identity", "", "trusted signer: the exact subject of the certificate")
	flags.StringVar(&f.IdentityRegexp, "certificate-identity-regexp", "",
		"trusted signer: a regular expression for the whole subject")
	flags.StringVar(&f.Issuer, "certificate-oidc-issuer", "", "`url` of the OIDC issuer of the trusted signer")
	flags.StringVar(&f.TrustedRoot, "trusted-root", "",
		"`file` with the trusted root (default: the public-good Sigstore, built in)")
	flags.StringSliceVar(&f.Kinds, "kinds",
		nil, "accepted kinds, as Kind.group, or '*' (default: PolicyException of both groups)")
	cli.Check(flags, "kinds", func(kind string) error {
		_, err := trust.NewKinds([]string{kind})
		return err
	})
	flags.StringVar(&f.MaxLifetime, "max-lifetime", "", "longest `duration` from signing to expiry, such as 90d")
	cli.Check(flags, "max-lifetime", cli.IsDuration)
	flags.BoolVar(&f.AllowUnbounded, "allow-unbounded", false, "accept exceptions that never expire")
	return f
}

// AddKey adds the flag for a public key.
func (f *Flags) AddKey(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.Key, "key", "", "trusted signer: the public key in a PEM `file`")
}

// NamesAuthority reports whether the flags name a trusted signer.
func (f *Flags) NamesAuthority() bool {
	return f.Identity != "" || f.IdentityRegexp != "" || f.Issuer != "" || f.Key != ""
}

// Config returns the trust policy of a configuration with the flags applied. A nil f has no flags.
func (f *Flags) Config(cfg *config.Config) (trust.Config, error) {
	c, err := trust.Read(cfg.Document(), cfg.Dir)
	if err != nil || f == nil {
		return c, cli.InConfig(err)
	}
	if f.NamesAuthority() {
		c.Authorities, c.Threshold, c.Groups = f.authorities(), 0, nil
	}
	c.TrustedRoot, c.MaxLifetime = cmp.Or(f.TrustedRoot, c.TrustedRoot), cmp.Or(f.MaxLifetime, c.MaxLifetime)
	if len(f.Kinds) > 0 {
		c.Kinds = f.Kinds
	}
	if f.given("allow-unbounded") {
		c.InsecureAllowUnbounded = f.AllowUnbounded
	}
	return c, nil
}

func (f *Flags) authorities() (all []trust.AuthorityConfig) {
	if f.Identity != "" || f.IdentityRegexp != "" || f.Issuer != "" {
		source := "--certificate-identity"
		if f.IdentityRegexp != "" {
			source = "--certificate-identity-regexp"
		}
		all = append(all, trust.AuthorityConfig{Source: source, Subject: f.Identity, SubjectRegexp: f.IdentityRegexp,
			Issuer: f.Issuer})
	}
	if f.Key != "" {
		all = append(all, trust.AuthorityConfig{Source: "--key " + f.Key, KeyFile: f.Key})
	}
	return all
}

// Policy returns the trust policy of a configuration, for commands without the flags. Its errors are
// those of [Flags.Policy].
func Policy(cfg *config.Config) (*trust.Policy, error) { return (*Flags)(nil).Policy(cfg) }

// Policy returns the merged policy of configuration and flags. A policy that is invalid or has no
// trusted signer is a [cli.UsageError].
func (f *Flags) Policy(cfg *config.Config) (*trust.Policy, error) {
	c, err := f.Config(cfg)
	if err != nil {
		return nil, err
	}
	policy, err := trust.Load(c)
	switch {
	case errors.Is(err, trust.ErrNoAuthority):
		return nil, f.nobody(c.Source)
	case err != nil:
		return nil, &cli.UsageError{Err: err}
	}
	return policy, nil
}

// Verifier makes a verifier for the merged policy of configuration and flags. Its errors are those
// of [Flags.Policy].
func (f *Flags) Verifier(cfg *config.Config) (*verify.Verifier, error) {
	policy, err := f.Policy(cfg)
	if err != nil {
		return nil, err
	}
	return verify.New(policy)
}

// nobody is the error of a trust policy without a trusted signer. source names its configuration.
func (f *Flags) nobody(source string) error {
	in, hint := "", "name a configuration whose section trust lists signers: --config FILE"
	if source != "" {
		in, hint = " in "+source, "list signers in its section trust under authorities"
	}
	switch {
	case f != nil && source != "":
		hint += ", or name one with --certificate-identity and --certificate-oidc-issuer"
	case f != nil:
		hint = "name the signer with --certificate-identity and --certificate-oidc-issuer, a public key with --key, " +
			"or a configuration with --config"
		if _, err := os.Lstat(config.Name); err == nil {
			hint += "; there is a " + config.Name + " here, which is not read unless --config names it: a gate must " +
				"not take its trust policy from the files that it verifies"
		}
	}
	return cli.UsageHint(hint, "no trusted signer configured%s", in)
}

package guard

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/guard"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/trust"
)

var errNoSubcommand = errors.New("missing command: serve or check")

// loader loads the configuration at a path and the files that it names, for a guard in a namespace.
// It returns nil if none of them has changed.
func loader(path, namespace string) guard.Load {
	return func(digest string) (*guard.Rules, error) {
		cfg, err := cli.LoadConfig(path)
		if err != nil {
			return nil, forThisVersion(err)
		}
		config, err := trust.Read(cfg.Document(), cfg.Dir)
		if err != nil {
			return nil, forThisVersion(err)
		}
		settings := cfg.Guard
		// Protect the guard's own namespace, even if it has another name.
		settings.GuardNamespaces = append(settings.GuardNamespaces, namespace)
		for i, path := range settings.Policies {
			if !filepath.IsAbs(path) {
				settings.Policies[i] = filepath.Join(cfg.Dir, path)
			}
		}
		now, err := digestOf(cfg.Document().Source(), config, settings.Policies)
		if err != nil || now == digest {
			return nil, err
		}
		rules, err := guard.NewRules(config, settings, now)
		if err != nil {
			return nil, err
		}
		report := &cli.Report{}
		known := cli.Policies(settings.Policies, report)
		for _, r := range report.Results() {
			return nil, fmt.Errorf("guard.policies: %s:%d: %s", r.File, r.Line, r.Message)
		}
		return rules.WithPolicies(known), nil
	}
}

// forThisVersion adds the version of this guard to an error in the text of the configuration. A
// configuration for another version may have keys or a form that this one does not know. The guard
// rejects it as a whole: an ignored key could be a restriction.
func forThisVersion(err error) error {
	var syntax *exception.SyntaxError
	if !errors.As(err, &syntax) {
		return err
	}
	return cli.InConfig(fmt.Errorf("%w (this is polex-guard %s: correct the configuration, "+
		"or install the version that it is written for)", err, cli.VersionText()))
}

// digestOf returns a digest of a configuration and of the files that it names.
func digestOf(text []byte, config trust.Config, policies []string) (string, error) {
	const maxNamed = 4 << 20 // the maximum size in bytes of a file that the trust policy names
	contents := [][]byte{text}
	for _, path := range append(config.Files(), policies...) {
		raw, err := cli.ReadFileUpTo(path, maxNamed)
		if err != nil {
			return "", fmt.Errorf("a file of the configuration: %w", err)
		}
		contents = append(contents, raw)
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256(fmt.Appendf(nil, "%q", contents))), nil
}

//go:build e2e

package interop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/internal/sandbox/sandboxtest"
	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/e2e/servers"
	"github.com/polex-dev/polex/test/e2e/sigstore"
)

// The Sigstores of this process: the sandbox, which is the issuer for both, and the real one. people
// is the issuer for a sign-in, which only the real one trusts.
var (
	box    *sandbox.Sandbox
	real   *sigstore.Sigstore
	people *sandboxtest.People
)

// commands runs the commands of polex and of other projects to their end.
var commands *servers.Group

func TestMain(m *testing.M) {
	fixture.Main(m, func(ctx context.Context, f *fixture.Fixture) error {
		if err := errors.Join(f.Build(ctx, "polex-sign", "polex-verify"), f.StartSigstore(ctx)); err != nil {
			return err
		}
		box = f.Sigstore
		run, err := f.Dir("run")
		if err != nil {
			return err
		}
		commands = &servers.Group{Binaries: f.Folder, Dir: run}
		dir, err := f.Dir("real")
		if err != nil {
			return err
		}
		if people, err = sandboxtest.StartPeople(); err != nil {
			return err
		}
		f.Keep(people)
		if real, err = sigstore.Start(ctx, sigstore.Options{Binaries: fixture.FromRoot("bin/e2e"), Tools: fixture.FromRoot("test/e2e/tools/sigstore"),
			Dir: dir, Workflows: []string{box.IssuerURL, box.OtherIssuerURL}, People: people.URL}); err != nil {
			return err
		}
		f.Keep(real)
		fmt.Fprintln(os.Stdout, "real servers:", strings.Join(real.Names(), ", "))
		return writeConfigs()
	})
}

// writeConfigs writes polex's configurations for the real Sigstore: the sandbox's with other
// addresses, in the folder of the other trusted root.
func writeConfigs() error {
	addresses := strings.NewReplacer(box.FulcioURL, real.FulcioURL, box.RekorURL, real.RekorURL, box.RekorV2URL, real.RekorV2URL, box.TimestampURL, real.TimestampURL)
	for _, path := range []string{box.ConfigPath, box.ConfigV2Path} {
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.WriteFile(besideRoot(path), []byte(addresses.Replace(string(raw))), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// besideRoot returns the path of a sandbox's file in the folder of the real Sigstore.
func besideRoot(path string) string {
	return filepath.Join(filepath.Dir(real.TrustedRootPath), filepath.Base(path))
}

// place is one Sigstore with one version of its log, and its configuration for polex.
type place struct {
	name, config, root, rekor string
	checked                   string // the evidence that polex-verify checks
	flags                     []string
}

// places returns the sandbox and the real Sigstore for each version, to compare the two.
func places() [][2]place {
	const (
		v1 = "[certificate-chain sct signed-entry-timestamp inclusion-proof]"
		v2 = "[certificate-chain sct timestamp inclusion-proof]"
	)
	flags := func(fulcio, rekor, root string, more ...string) []string {
		return append([]string{"--fulcio-url", fulcio, "--rekor-url", rekor, "--trusted-root", root}, more...)
	}
	return [][2]place{{
		{"the sandbox, Rekor 1", box.ConfigPath, box.TrustedRootPath, box.RekorURL, v1, flags(box.FulcioURL, box.RekorURL, box.TrustedRootPath)},
		{"the real Sigstore, Rekor 1", besideRoot(box.ConfigPath), real.TrustedRootPath, real.RekorURL, v1, flags(real.FulcioURL, real.RekorURL, real.TrustedRootPath)},
	}, {
		{"the sandbox, Rekor 2", box.ConfigV2Path, box.TrustedRootPath, box.RekorV2URL, v2,
			flags(box.FulcioURL, box.RekorV2URL, box.TrustedRootPath, "--rekor-version=2", "--timestamp-server-url", box.TimestampURL)},
		{"the real Sigstore, Rekor 2", besideRoot(box.ConfigV2Path), real.TrustedRootPath, real.RekorV2URL, v2,
			flags(real.FulcioURL, real.RekorV2URL, real.TrustedRootPath, "--rekor-version=2", "--timestamp-server-url", real.TimestampURL)},
	}}
}

func theReal() place   { return places()[0][1] }
func theRealV2() place { return places()[1][1] }

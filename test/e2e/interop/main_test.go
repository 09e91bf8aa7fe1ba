//go:build e2e

package interop

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/e2e/servers"
	"github.com/polex-dev/polex/test/e2e/sigstore"
)

// The Sigstores of this process: the sandbox, which is the issuer of both, and
// the real one.
var (
	box  *sandbox.Sandbox
	real *sigstore.Sigstore
)

// commands runs polex's own commands and those of others to their ends.
var commands *servers.Group

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "polex-interop-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := setUp(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer box.Close()
	defer real.Close()
	fmt.Fprintln(os.Stdout, "real servers:", strings.Join(real.Names(), ", "))
	status := m.Run()
	if status != 0 {
		fmt.Fprintln(os.Stderr, real.Logs())
	}
	return status
}

func setUp(dir string) error {
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"bin", "real", "run"} {
		if err := os.Mkdir(at(name), 0o700); err != nil {
			return err
		}
	}
	build := exec.Command("go", "build", "-o", at("bin")+string(filepath.Separator), "./cmd/polex-sign", "./cmd/polex-verify")
	build.Dir, build.Stdout, build.Stderr = fromRoot(""), os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build polex: %w", err)
	}
	commands = &servers.Group{Binaries: at("bin"), Dir: at("run")}
	var err error
	if box, err = sandbox.Start(context.Background(), sandbox.Options{Dir: at("sandbox")}); err != nil {
		return err
	}
	if real, err = sigstore.Start(context.Background(), sigstore.Options{Binaries: fromRoot("bin/e2e"), Tools: fromRoot("test/e2e/tools/sigstore"),
		Dir: at("real"), Workflows: []string{box.IssuerURL, box.OtherIssuerURL}, People: box.PersonIssuerURL}); err != nil {
		return err
	}
	return writeConfig(at("real/polex.yaml"))
}

// writeConfig writes polex's configuration for the real Sigstore: the sandbox's,
// with other addresses, beside the other trusted root.
func writeConfig(path string) error {
	raw, err := os.ReadFile(box.ConfigPath)
	if err != nil {
		return err
	}
	text := strings.NewReplacer(box.FulcioURL, real.FulcioURL, box.RekorURL, real.RekorURL).Replace(string(raw))
	return os.WriteFile(path, []byte(text), 0o600)
}

// place is one Sigstore, with what polex is told of it.
type place struct {
	name, config, root, fulcio, rekor string
}

// places are both, by which the sandbox is held against the real one.
func places() []place {
	return []place{
		{"the sandbox", box.ConfigPath, box.TrustedRootPath, box.FulcioURL, box.RekorURL},
		theReal(),
	}
}

func theReal() place {
	return place{"the real Sigstore", filepath.Join(filepath.Dir(real.TrustedRootPath), "polex.yaml"), real.TrustedRootPath, real.FulcioURL, real.RekorURL}
}

func fromRoot(path string) string {
	absolute, err := filepath.Abs(filepath.Join("..", "..", "..", filepath.FromSlash(path)))
	if err != nil {
		return path
	}
	return absolute
}

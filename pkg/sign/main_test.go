package sign_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/pkg/trust"
)

// undisturbed is one sandbox for the tests that do not change its answers.
var undisturbed *fixture

func shared(testing.TB) *fixture { return undisturbed }

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "polex-sign-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	undisturbed = &fixture{wire: &wire{}, rest: &rest{}}
	undisturbed.Sandbox, err = sandbox.Start(context.Background(), sandbox.Options{Dir: dir, Intercept: undisturbed.wire.intercept})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer undisturbed.Close()
	if undisturbed.root, err = trust.LoadRoot(undisturbed.TrustedRootPath); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// Package sandboxtest starts a sandbox for the tests of a package, and signs in it like polex-sign.
package sandboxtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/sign"
	"github.com/polex-dev/polex/pkg/trust"
)

// Shared is a sandbox that the tests of a package share. The first call of Start starts it.
type Shared struct {
	once sync.Once
	box  *sandbox.Sandbox
	err  error
}

// Start returns the sandbox.
func (s *Shared) Start() (*sandbox.Sandbox, error) {
	s.once.Do(func() {
		var dir string
		if dir, s.err = os.MkdirTemp("", "polex-sandbox-"); s.err == nil {
			s.box, s.err = sandbox.Start(context.Background(), sandbox.Options{Dir: dir})
		}
	})
	return s.box, s.err
}

// Main runs the tests of a package, and closes their shared sandboxes.
func Main(m *testing.M, shared ...*Shared) {
	status := m.Run()
	for _, s := range shared {
		if s.box == nil {
			continue
		}
		if err := errors.Join(s.box.Close(), os.RemoveAll(s.box.Dir)); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	os.Exit(status)
}

// Signer returns a signer for an identity. The zero identity is the merge workflow.
func Signer(ctx context.Context, box *sandbox.Sandbox, id sandbox.Identity) (*sign.Signer, error) {
	root, err := trust.LoadRoot(box.TrustedRootPath)
	if err != nil {
		return nil, err
	}
	token, err := box.Token(id, "sigstore")
	if err != nil {
		return nil, err
	}
	return sign.Keyless(ctx, sign.Config{RekorURL: box.RekorURL, Root: root}, box.FulcioURL, token, time.Now())
}

// Sign signs drafts with one certificate. Its clock returns at.
func Sign(ctx context.Context, box *sandbox.Sandbox, id sandbox.Identity, at time.Time, drafts ...string) ([]*exception.Document, error) {
	signer, err := Signer(ctx, box, id)
	if err != nil {
		return nil, err
	}
	docs := make([]*exception.Document, len(drafts))
	for i, text := range drafts {
		if docs[i], err = exception.Parse([]byte(text), "draft"); err != nil {
			return nil, err
		}
	}
	return signer.Seal(ctx, docs, at)
}

// Files signs drafts like [Sign], and returns the texts of the files.
func Files(tb testing.TB, box *sandbox.Sandbox, id sandbox.Identity, at time.Time, drafts ...string) []string {
	tb.Helper()
	signed, err := Sign(tb.Context(), box, id, at, drafts...)
	if err != nil {
		tb.Fatal(err)
	}
	texts := make([]string, len(signed))
	for i, doc := range signed {
		texts[i] = string(doc.Source())
	}
	return texts
}

package story

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// KyvernoOn makes Kyverno verify signatures itself, and waits until it does. It uses the policy
// that docs/explanation/interop.md compares, with another signer.
func (w *World) KyvernoOn(ctx context.Context) error {
	policy, err := w.kyvernoPolicy()
	if err != nil {
		return err
	}
	if _, err := w.Apply(ctx, policy); err != nil {
		return err
	}
	for _, kind := range Kinds {
		if err := w.until(ctx, "Kyverno to check signatures", func(ctx context.Context) error {
			// A dry run would not be checked. Exceptions that are admitted meanwhile are deleted.
			probe := kind.Exception(Ask{Name: "probe"})
			refused := w.refuses(ctx, probe, "message not found")
			if refused != nil {
				_, err := w.kubectl(ctx, probe, "delete", "--ignore-not-found", "-f", "-")
				return errors.Join(refused, err)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// KyvernoOff stops Kyverno's verification of signatures.
func (w *World) KyvernoOff(ctx context.Context) error {
	policy, err := w.kyvernoPolicy()
	if err != nil {
		return err
	}
	_, err = w.Delete(ctx, policy)
	return err
}

func (w *World) kyvernoPolicy() (string, error) {
	text, err := os.ReadFile(filepath.Join(w.Root, "test", "e2e", "interop", "testdata", "validatemanifests.yaml"))
	if err != nil {
		return "", err
	}
	return strings.NewReplacer("https://token.actions.githubusercontent.com", w.Issuer.IssuerURL, "https://rekor.sigstore.dev", w.Sigstore.RekorURL,
		"https://github.com/acme/exceptions/.github/workflows/merge.yaml@refs/heads/main", Subject).Replace(string(text)), nil
}

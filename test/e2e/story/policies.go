package story

import (
	"context"
	"fmt"
	"strings"
)

// startPolicies applies what Pods have to obey, and waits until Kyverno sees to it.
func (w *World) startPolicies(ctx context.Context) error {
	for _, kind := range Kinds {
		if _, err := w.Apply(ctx, kind.policies); err != nil {
			return err
		}
	}
	for _, kind := range Kinds {
		for _, field := range kind.fields {
			if err := w.until(ctx, "Kyverno to refuse Pods with "+field, func(ctx context.Context) error {
				only := kind
				only.fields[0] = field
				out, err := w.Apply(ctx, only.Pod("probe", First), "--dry-run=server")
				if err == nil {
					return fmt.Errorf("it does not: %s", out)
				}
				if !strings.Contains(err.Error(), "no Pod") {
					return err
				}
				return nil
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

package story

import (
	"context"
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
				return w.refuses(ctx, only.Pod("probe", First), "no Pod", "--dry-run=server")
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

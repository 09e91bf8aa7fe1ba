package story

import (
	"context"
)

// startPolicies creates a Pod of each kind, then applies the policies for Pods, and waits until
// Kyverno enforces them. The Pods violate a policy, and stay until they are recreated.
func (w *World) startPolicies(ctx context.Context) error {
	for _, kind := range Kinds {
		if _, err := w.Apply(ctx, kind.Pod(kind.Elder(), First)); err != nil {
			return err
		}
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

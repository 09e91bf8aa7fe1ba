package story

import (
	"context"
)

// startPolicies applies what Pods have to obey, and waits until Kyverno sees to it. A
// Pod of each kind is there before: it breaks a policy, and stays until it is made
// anew.
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

//go:build e2e

package gitops

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/polex-dev/polex/test/e2e/argocd"
	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/must"
)

var errStillThere = errors.New("it is still there")

// until repeats a check until it succeeds, while the servers run, for waitLimit at most.
func until(t *testing.T, what string, ask func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	must.Do(t, argo.Until(ctx, what, ask))
}

// watched waits until the Application is in the wanted state, and returns it.
func watched(t *testing.T, what string, want func(*argocd.Application) bool) *argocd.Application {
	t.Helper()
	var last *argocd.Application
	until(t, what, func(ctx context.Context) error {
		found, err := argo.Application(ctx, "exceptions")
		if err != nil {
			return err
		}
		last = found
		if !want(found) {
			return fmt.Errorf("it is %s at %s: %s", found.Sync.Status, found.Sync.Revision, found.Said())
		}
		return nil
	})
	return last
}

// synced waits until the Application has applied a commit.
func synced(t *testing.T, commit string) *argocd.Application {
	t.Helper()
	return watched(t, "the sync of "+commit, func(a *argocd.Application) bool {
		return a.Sync.Status == "Synced" && a.Sync.Revision == commit && a.OperationState != nil &&
			a.OperationState.Phase == "Succeeded" && a.OperationState.SyncResult.Revision == commit
	})
}

// refresh makes the Application read the repository.
func refresh(t *testing.T) {
	t.Helper()
	must.Do(t, argo.Refresh(t.Context(), "exceptions"))
}

// stored returns the names of the exceptions in the cluster, sorted.
func stored(ctx context.Context) ([]string, error) {
	names := []string{}
	for _, target := range []cluster.Target{exceptions, native} {
		var list struct {
			Items []struct{ Metadata struct{ Name string } }
		}
		if err := cluster.Into(&list)(live.Get(ctx, target.Path(""))); err != nil {
			return nil, err
		}
		for _, item := range list.Items {
			names = append(names, item.Metadata.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// holds fails unless the cluster has exactly these exceptions.
func holds(t *testing.T, want ...string) {
	t.Helper()
	have := must.Get(stored(t.Context()))(t)
	slices.Sort(want)
	if diff := cmp.Diff(append([]string{}, want...), have); diff != "" {
		t.Fatalf("the exceptions in the cluster (-want +got):\n%s", diff)
	}
}

// says fails unless a text contains all others.
func says(t *testing.T, text string, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
}

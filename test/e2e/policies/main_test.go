//go:build e2e

package policies

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/fixture"
)

// live is an API server with Kyverno and its controllers, shared by all tests of this process.
var live *cluster.Cluster

func TestMain(m *testing.M) {
	fixture.Main(m, func(ctx context.Context, f *fixture.Fixture) error {
		if err := f.StartCluster(ctx, cluster.Options{}); err != nil {
			return err
		}
		live = f.Cluster
		return startControllers(ctx, f.Folder)
	})
}

// startControllers runs Kyverno's controllers, each with its own ServiceAccount.
func startControllers(ctx context.Context, folder string) error {
	if err := live.InstallRoles(ctx); err != nil {
		return err
	}
	if err := aggregated(ctx); err != nil {
		return err
	}
	background := filepath.Join(folder, "background.kubeconfig")
	if err := live.KubeconfigOf(ctx, "kyverno", "kyverno-background-controller", background); err != nil {
		return err
	}
	if err := live.StartBackgroundController(ctx, cluster.Controller{Kubeconfig: background}); err != nil {
		return err
	}
	cleanup := filepath.Join(folder, "cleanup.kubeconfig")
	if err := live.KubeconfigOf(ctx, "kyverno", "kyverno-cleanup-controller", cleanup); err != nil {
		return err
	}
	return live.StartCleanupController(ctx, cluster.Controller{Kubeconfig: cleanup, Args: []string{"--ttlReconciliationInterval=1s"}})
}

// aggregated waits until Kyverno's roles have rules.
func aggregated(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for _, role := range []string{"kyverno:background-controller", "kyverno:cleanup-controller"} {
		if err := live.Until(within, "the rules of "+role, func(ctx context.Context) error {
			answer, err := live.Do(ctx, cluster.Request{Method: http.MethodGet, Path: "/apis/rbac.authorization.k8s.io/v1/clusterroles/" + role})
			if err != nil {
				return err
			}
			return has(answer, `"policyexceptions"`)
		}); err != nil {
			return err
		}
	}
	return nil
}

// has returns an error unless an answer is a success that contains a text.
func has(answer *cluster.Answer, text string) error {
	switch {
	case !answer.OK():
		return fmt.Errorf("%d: %s", answer.Code, answer.Message())
	case !bytes.Contains(answer.Body, []byte(text)):
		return errors.New("there is no " + text)
	}
	return nil
}

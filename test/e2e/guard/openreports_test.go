//go:build e2e

package guard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/e2e/servers"
)

// TestOpenReports: if the cluster has the reports of openreports.io, the guard writes those, and
// deletes its older reports of the other kind.
func TestOpenReports(t *testing.T) {
	ns := namespace(t)
	target := cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: ns}
	create(t, target, draft{name: "unsigned", namespace: ns}.legacy("v2")).want(t, http.StatusCreated)
	before := settings{}.run(t)
	before.until(t, "the report of the working group", func(ctx context.Context) error { return reported(ctx, ns, []string{"unsigned unsigned fail"}) })
	before.group.Stop()

	open := servesOpenReports(t, ns)
	before.again(t)
	before.until(t, "the open report", func(ctx context.Context) error { return reportedAt(ctx, open, []string{"unsigned unsigned fail"}) })
	before.until(t, "the other report to go", func(ctx context.Context) error { return gonePath(ctx, fmt.Sprintf(reports, ns)) })
	create(t, target, draft{name: "another", namespace: ns}.legacy("v2")).want(t, http.StatusCreated)
	before.until(t, "the open report of both", func(ctx context.Context) error {
		return reportedAt(ctx, open, []string{"another unsigned fail", "unsigned unsigned fail"})
	})
}

// servesOpenReports installs the reports of openreports.io until the test ends, and returns the
// path of a namespace's report.
func servesOpenReports(t *testing.T, ns string) (path string) {
	t.Helper()
	source, err := servers.Source(t.Context(), fixture.FromRoot("test/e2e/tools/kyverno"), "github.com/openreports/reports-api")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(source, "config", "crd", "openreports.io_reports.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	text = []byte(strings.TrimPrefix(strings.TrimSpace(string(text)), "---"))
	do(t, cluster.Request{Method: http.MethodPost, Path: definitions, Body: text}).want(t, http.StatusCreated)
	path = fmt.Sprintf("/apis/openreports.io/v1alpha1/namespaces/%s/reports/polex-guard", ns)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
		defer cancel()
		_, _ = live.Do(ctx, cluster.Request{Method: http.MethodDelete, Path: definitions + "/reports.openreports.io"})
		if err := live.Until(ctx, "the definition to go", func(ctx context.Context) error {
			return gonePath(ctx, definitions+"/reports.openreports.io")
		}); err != nil {
			t.Error(err)
		}
	})
	until(t, "the definition", func(ctx context.Context) error {
		answer, err := live.Do(ctx, cluster.Request{Method: http.MethodGet, Path: strings.TrimSuffix(path, "/polex-guard")})
		if err == nil && !answer.OK() {
			err = errors.New(answer.Message())
		}
		return err
	})
	return path
}

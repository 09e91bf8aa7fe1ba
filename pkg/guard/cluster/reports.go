package cluster

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/polex-dev/polex/pkg/guard"
)

// reportKind is the report of the Kubernetes policy working group, which
// dashboards show.
var reportKind = schema.GroupVersionKind{Group: "wgpolicyk8s.io", Version: "v1alpha2", Kind: "PolicyReport"}

const (
	reportName  = "polex-guard"
	managedBy   = "app.kubernetes.io/managed-by"
	mostResults = 1000 // of a report, which etcd has to store
)

// Reports writes a PolicyReport into each namespace that holds something, where
// the cluster knows reports.
type Reports struct {
	Client client.Client // that asks the API server at every call

	written map[string][sha256.Size]byte // by namespace
}

// Write makes the reports say what was found, and removes those of namespaces
// where there is nothing.
func (r *Reports) Write(ctx context.Context, all []*guard.Finding) error {
	if _, err := r.Client.RESTMapper().RESTMapping(reportKind.GroupKind(), reportKind.Version); err != nil {
		if meta.IsNoMatchError(err) {
			return nil
		}
		return err
	}
	if r.written == nil {
		if err := r.adopt(ctx); err != nil {
			return err
		}
	}
	in := map[string][]*guard.Finding{}
	for _, f := range all {
		if f.Object.Namespace != "" {
			in[f.Object.Namespace] = append(in[f.Object.Namespace], f)
		}
	}
	for namespace, findings := range in {
		if err := r.write(ctx, namespace, findings); err != nil {
			return fmt.Errorf("report on %q: %w", namespace, err)
		}
	}
	for namespace := range r.written {
		if in[namespace] != nil {
			continue
		}
		if err := r.Client.Delete(ctx, newReport(namespace)); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("remove the report on %q: %w", namespace, err)
		}
		delete(r.written, namespace)
	}
	return nil
}

// adopt takes up what another guard has written.
func (r *Reports) adopt(ctx context.Context) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(reportKind.GroupVersion().WithKind(reportKind.Kind + "List"))
	if err := r.Client.List(ctx, list, client.MatchingLabels{managedBy: reportName}); err != nil {
		return fmt.Errorf("list the reports: %w", err)
	}
	r.written = map[string][sha256.Size]byte{}
	for i := range list.Items {
		if list.Items[i].GetName() == reportName {
			r.written[list.Items[i].GetNamespace()] = [sha256.Size]byte{}
		}
	}
	return nil
}

func (r *Reports) write(ctx context.Context, namespace string, findings []*guard.Finding) error {
	report := newReport(namespace)
	report.Object["results"], report.Object["summary"] = results(findings)
	text, err := json.Marshal(report.Object)
	if err != nil {
		return err
	}
	digest := sha256.Sum256(text)
	if r.written[namespace] == digest {
		return nil
	}
	err = r.Client.Create(ctx, report)
	if apierrors.IsAlreadyExists(err) {
		there := newReport(namespace)
		if err := r.Client.Get(ctx, client.ObjectKeyFromObject(there), there); err != nil {
			return err
		}
		report.SetResourceVersion(there.GetResourceVersion())
		err = r.Client.Update(ctx, report)
	}
	if err == nil {
		r.written[namespace] = digest
	}
	return err
}

func newReport(namespace string) *unstructured.Unstructured {
	report := empty(reportKind)
	report.SetNamespace(namespace)
	report.SetName(reportName)
	report.SetLabels(map[string]string{managedBy: reportName})
	return report
}

// results are those of a report, what is wrong first.
func results(findings []*guard.Finding) (list []any, summary map[string]any) {
	slices.SortFunc(findings, func(a, b *guard.Finding) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Object.String(), b.Object.String()))
	})
	counts := map[string]int64{"pass": 0, "fail": 0, "warn": 0, "error": 0, "skip": 0}
	list = []any{}
	for _, f := range findings {
		outcome := outcomeOf(f)
		counts[outcome]++
		if len(list) == mostResults {
			continue
		}
		resource := map[string]any{"apiVersion": schema.GroupVersion{Group: f.Object.Group, Version: f.Version}.String(), "kind": f.Object.Kind,
			"namespace": f.Object.Namespace, "name": f.Object.Name, "uid": f.UID}
		list = append(list, map[string]any{
			"source": "polex", "policy": reportName, "rule": f.Reason, "result": outcome, "message": f.Summary(), "category": "Exceptions",
			"resources": []any{resource}, "timestamp": map[string]any{"seconds": f.Since.Unix(), "nanos": int64(0)},
		})
	}
	summary = map[string]any{}
	for outcome, n := range counts {
		summary[outcome] = n
	}
	return list, summary
}

func rank(f *guard.Finding) int {
	if f.Passed() {
		return 1
	}
	return 0
}

// outcomeOf is what the report's format calls it.
func outcomeOf(f *guard.Finding) string {
	switch {
	case f.Reason == guard.ReasonDeleting:
		return "skip"
	case f.Passed():
		return "pass"
	case f.Reason == guard.ReasonUndecided:
		return "error"
	default:
		return "fail"
	}
}

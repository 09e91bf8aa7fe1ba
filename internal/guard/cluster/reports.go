package cluster

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/polex-dev/polex/internal/guard"
	"github.com/polex-dev/polex/pkg/exception"
)

// The kinds of reports that dashboards show: OpenReports, and its predecessor of the Kubernetes
// policy working group.
var (
	openReport   = schema.GroupVersionKind{Group: "openreports.io", Version: "v1alpha1", Kind: "Report"}
	policyReport = schema.GroupVersionKind{Group: "wgpolicyk8s.io", Version: "v1alpha2", Kind: "PolicyReport"}
)

const (
	reportName  = "polex-guard"
	managedBy   = "app.kubernetes.io/managed-by"
	mostResults = 1000 // of a report, because etcd limits its size
	// asksForKind is the pause between two questions for the kind of reports in the cluster.
	asksForKind = 10 * time.Second
)

// Reports writes one report into each namespace that has findings. It uses openreports.io, or else
// wgpolicyk8s.io, or none if the cluster has neither. It is not safe for concurrent use.
type Reports struct {
	API *API

	kind    reportKind                   // zero: none
	chosen  time.Time                    // when the kind was last looked for
	written map[string][sha256.Size]byte // digests by namespace; zero: unknown
}

// reportKind is a kind of reports, and its resource.
type reportKind struct {
	schema.GroupVersionKind
	where resource
}

// Write updates the reports to the findings, and deletes the reports of other namespaces.
func (r *Reports) Write(ctx context.Context, all []*guard.Finding) error {
	if err := r.choose(ctx); err != nil || r.kind == (reportKind{}) {
		return err
	}
	in := map[string][]*guard.Finding{}
	for _, f := range all {
		if f.Object.Namespace != "" {
			in[f.Object.Namespace] = append(in[f.Object.Namespace], f)
		}
	}
	var failed []error
	for namespace := range r.written {
		if in[namespace] == nil {
			in[namespace] = nil // its report is removed
		}
	}
	for namespace, findings := range in {
		err := r.update(ctx, namespace, findings)
		if err == nil {
			continue
		}
		failed = append(failed, fmt.Errorf("report on %q: %w", namespace, err))
		var answer apierrors.APIStatus
		if !errors.As(err, &answer) {
			break // the API server does not answer, and each request would wait until its time limit
		}
	}
	if len(failed) == 0 {
		return nil
	}
	r.chosen = time.Time{} // the next Write looks for the kind of reports again
	return fmt.Errorf("%w (one of %d)", failed[0], len(failed))
}

// update writes the report of a namespace, or removes it without findings.
func (r *Reports) update(ctx context.Context, namespace string, findings []*guard.Finding) error {
	if findings != nil {
		return r.write(ctx, namespace, findings)
	}
	err := r.remove(ctx, r.kind.where, namespace)
	if err == nil {
		delete(r.written, namespace)
	}
	return err
}

// choose finds the kind of reports that the cluster has, and the existing reports of another guard.
// It deletes the reports of the other kind, because nobody updates them.
func (r *Reports) choose(ctx context.Context) error {
	if !r.chosen.IsZero() && time.Since(r.chosen) < asksForKind {
		return nil
	}
	var served []reportKind
	for _, kind := range []schema.GroupVersionKind{openReport, policyReport} {
		in := resource{root: "/apis/" + kind.Group, version: kind.Version}
		where, err := r.API.findIn(ctx, in, exception.GroupKind(kind.GroupKind()))
		if err == nil {
			served = append(served, reportKind{kind, where})
		} else if !errors.Is(err, errNotServed) {
			return fmt.Errorf("find the kind %s: %w", kind, err)
		}
	}
	if chosen := append(served, reportKind{})[0]; chosen != r.kind {
		written := map[string][sha256.Size]byte{}
		for _, kind := range served {
			all, err := r.namespaces(ctx, kind.where)
			for _, namespace := range all {
				if kind == chosen {
					written[namespace] = [sha256.Size]byte{}
				} else {
					err = errors.Join(err, r.remove(ctx, kind.where, namespace))
				}
			}
			if err != nil {
				return fmt.Errorf("replace the reports of the kind %s: %w", kind, err)
			}
		}
		r.kind, r.written = chosen, written
	}
	r.chosen = time.Now()
	return nil
}

// namespaces returns the namespaces where guards have written reports.
func (r *Reports) namespaces(ctx context.Context, where resource) (all []string, err error) {
	// Kyverno's reports-server ignores field selectors.
	ours := metav1.ListOptions{LabelSelector: managedBy + "=" + reportName}
	_, err = r.API.eachPage(ctx, where, ours, true, func(o *unstructured.Unstructured) {
		if o.GetName() == reportName {
			all = append(all, o.GetNamespace())
		}
	})
	if err != nil {
		return nil, fmt.Errorf("list the reports: %w", err)
	}
	return all, nil
}

func (r *Reports) remove(ctx context.Context, where resource, namespace string) error {
	err := r.API.rest.Delete().AbsPath(where.at(namespace, reportName)).Do(ctx).Error()
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// report has the fields of both kinds that the guard writes.
type report struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        metav1.ObjectMeta `json:"metadata"`
	Source          string            `json:"source,omitempty"` // openreports.io only
	Results         []result          `json:"results"`
	Summary         map[string]int    `json:"summary"`
}

type result struct {
	Source    string                   `json:"source"`
	Policy    string                   `json:"policy"`
	Rule      string                   `json:"rule"`
	Result    string                   `json:"result"`
	Message   string                   `json:"message"`
	Category  string                   `json:"category"`
	Resources []corev1.ObjectReference `json:"resources"`
	Timestamp metav1.Timestamp         `json:"timestamp"`
}

const reportSource = "polex"

func (r *Reports) write(ctx context.Context, namespace string, findings []*guard.Finding) error {
	content := report{
		TypeMeta: metav1.TypeMeta{APIVersion: r.kind.GroupVersion().String(), Kind: r.kind.Kind},
		Metadata: metav1.ObjectMeta{
			Namespace: namespace, Name: reportName, Labels: map[string]string{managedBy: reportName},
		},
	}
	if r.kind.GroupVersionKind == openReport {
		content.Source = reportSource
	}
	content.Results, content.Summary = results(findings)
	text, err := json.Marshal(content)
	if err != nil {
		return err
	}
	digest := sha256.Sum256(text)
	if r.written[namespace] == digest {
		return nil
	}
	r.written[namespace] = [sha256.Size]byte{}
	if err := r.put(ctx, &content); err != nil {
		return err
	}
	r.written[namespace] = digest
	return nil
}

// put writes a report over the one that exists.
func (r *Reports) put(ctx context.Context, content *report) error {
	accept := partial("PartialObjectMetadata")
	path, request := r.kind.where.at(content.Metadata.Namespace, reportName), r.API.rest.Put()
	var stored metav1.PartialObjectMetadata
	switch err := into(r.API.rest.Get().AbsPath(path).SetHeader("Accept", accept).Do(ctx), &stored); {
	case apierrors.IsNotFound(err):
		path, request = r.kind.where.at(content.Metadata.Namespace, ""), r.API.rest.Post()
	case err != nil:
		return err
	}
	content.Metadata.ResourceVersion = stored.ResourceVersion
	text, err := json.Marshal(content)
	if err != nil {
		return err
	}
	request.AbsPath(path).SetHeader("Accept", accept).SetHeader("Content-Type", "application/json")
	return request.Body(text).Do(ctx).Error()
}

// results returns the results of a report, problems first.
func results(findings []*guard.Finding) (list []result, summary map[string]int) {
	rank := map[bool]int{true: 1} // by whether the finding has passed
	slices.SortFunc(findings, func(a, b *guard.Finding) int {
		x, y := a.Object, b.Object
		return cmp.Or(cmp.Compare(rank[a.Passed()], rank[b.Passed()]), strings.Compare(x.Kind, y.Kind),
			strings.Compare(x.Group, y.Group), strings.Compare(x.Name, y.Name))
	})
	summary = map[string]int{"pass": 0, "fail": 0, "warn": 0, "error": 0, "skip": 0}
	list = make([]result, 0, min(len(findings), mostResults))
	for _, f := range findings {
		outcome := outcomeOf(f)
		summary[outcome]++
		if len(list) == mostResults {
			continue
		}
		list = append(list, result{
			Source: reportSource, Policy: reportName, Rule: f.Reason, Result: outcome, Message: f.Summary(),
			Category: "Exceptions", Timestamp: metav1.Timestamp{Seconds: f.Since.Unix()},
			Resources: []corev1.ObjectReference{*reference(f.Object, f.Version, f.UID)},
		})
	}
	return list, summary
}

// outcomeOf returns the name of the outcome in the report format.
func outcomeOf(f *guard.Finding) string {
	switch {
	case f.Reason == guard.StateDeleting:
		return "skip"
	case f.Passed():
		return "pass"
	case f.Reason == guard.ReasonUndecided:
		return "error"
	default:
		return "fail"
	}
}

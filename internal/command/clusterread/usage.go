package clusterread

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/usage"
	"github.com/polex-dev/polex/internal/usage/kyvernocli"
	"github.com/polex-dev/polex/pkg/exception"
)

// Reports are the collections of reports. Not every cluster serves all of them.
var Reports = []schema.GroupVersionResource{
	{Group: "wgpolicyk8s.io", Version: "v1alpha2", Resource: "policyreports"},
	{Group: "wgpolicyk8s.io", Version: "v1alpha2", Resource: "clusterpolicyreports"},
	{Group: "openreports.io", Version: "v1alpha1", Resource: "reports"},
	{Group: "openreports.io", Version: "v1alpha1", Resource: "clusterreports"},
}

// AddReports adds the reports of the cluster to a collection. If there are none, or if they may not be
// listed, it says so in the collection: that is no error.
func (l *Live) AddReports(ctx context.Context, to *usage.Reports) error {
	if l.stream != nil {
		if len(l.stream.Reports) == 0 {
			to.Missing = "--live has no reports"
		}
		for _, report := range l.stream.Reports {
			if err := to.Add(report); err != nil {
				to.Missing = err.Error()
				break
			}
		}
		return nil
	}
	served, why := false, ""
	for _, of := range Reports {
		var unread error // of a report: its writer must not end the audit
		has, err := l.server.Each(ctx, of, "", func(object *unstructured.Unstructured) error {
			var report usage.Report
			unread = runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &report)
			if unread == nil {
				unread = to.Add(report)
			}
			return unread
		})
		switch {
		case unread != nil:
			why = fmt.Sprintf("the %s cannot be read: %v", of.GroupResource(), unread)
		case apierrors.IsForbidden(err):
			why = "the API server forbids to list " + of.GroupResource().String()
		case err != nil:
			return fmt.Errorf("read the reports: %w", err)
		}
		served = served || has
	}
	switch {
	case why != "":
		to.Missing = why
	case !served:
		to.Missing = "the cluster has no policy reports"
	}
	return nil
}

// maxAsked is the maximum number of resources about which Kyverno's command line is asked.
const maxAsked = 20_000

// Ask asks Kyverno's command line whether the resources of the exceptions in use would pass without them.
// Policies and resources come from the cluster, or from the stream.
func (l *Live) Ask(ctx context.Context, program string, of *usage.Reports) error {
	keys, exempt := of.Exempt()
	if len(exempt) > maxAsked {
		of.NotJudged(kyverno.PolicyKey{}, fmt.Sprintf("exceptions exempt more than %d resources", maxAsked))
		exempt = nil
	}
	var policies, resources []map[string]any
	var err error
	if l.stream != nil {
		policies, resources = l.inStream(keys, exempt)
	} else {
		if policies, err = l.policies(ctx, keys); err == nil {
			resources, err = l.resources(ctx, exempt)
		}
		if err != nil {
			return cli.Hint(fmt.Errorf("--kyverno-cli: %w", err),
				"it requires the permissions list on policies and get on the exempt resources")
		}
	}
	results, err := apply(ctx, program, of.Judged(policies), resources, of)
	if err != nil {
		return fmt.Errorf("--kyverno-cli: %w", err)
	}
	of.Judge(results)
	return nil
}

// apply asks about all policies together or, if the program fails, about each of them. It is an error if the
// program fails for all.
func apply(ctx context.Context, program string, policies, resources []map[string]any,
	of *usage.Reports) ([]usage.Result, error) {
	all, err := kyvernocli.Apply(ctx, program, policies, resources)
	if err == nil || len(policies) < 2 {
		return all, err
	}
	failed := 0
	for _, policy := range policies {
		results, err := kyvernocli.Apply(ctx, program, []map[string]any{policy}, resources)
		if all = append(all, results...); err != nil {
			failed++
			of.NotJudged(usage.KeyOf(policy), err.Error())
		}
	}
	if failed < len(policies) {
		err = nil
	}
	return all, err
}

// inStream returns the policies and resources that the stream has.
func (l *Live) inStream(keys []kyverno.PolicyKey, exempt []usage.Resource) (policies, resources []map[string]any) {
	wanted := map[usage.Resource]bool{}
	for _, r := range exempt {
		wanted[r] = true
	}
	for _, object := range l.stream.Others {
		o := &unstructured.Unstructured{Object: object}
		switch {
		case slices.Contains(keys, usage.KeyOf(object)):
			policies = append(policies, object)
		case wanted[usage.Resource{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(),
			Namespace: o.GetNamespace(), Name: o.GetName()}]:
			resources = append(resources, object)
		}
	}
	return policies, resources
}

// policies reads the named policies. A Namespaced kind of policies.kyverno.io is read in all namespaces.
func (l *Live) policies(ctx context.Context, keys []kyverno.PolicyKey) (all []map[string]any, err error) {
	lists := map[schema.GroupVersionResource]bool{}
	for _, key := range keys {
		of := schema.GroupVersionResource{Group: key.Group, Version: "v1", Resource: "clusterpolicies"}
		switch {
		case key.Group == exception.PoliciesGroup:
			of.Resource = strings.ToLower(strings.TrimSuffix(key.Kind, "y")) + "ies"
		case strings.Contains(key.Name, "/"):
			of.Resource = "policies"
		}
		lists[of] = true
	}
	for of := range lists {
		if _, err := l.server.Each(ctx, of, "", func(object *unstructured.Unstructured) error {
			if slices.Contains(keys, usage.KeyOf(object.Object)) {
				all = append(all, object.Object)
			}
			return nil
		}); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// resources reads the resources that still exist.
func (l *Live) resources(ctx context.Context, exempt []usage.Resource) (all []map[string]any, err error) {
	type collection struct {
		schema.GroupVersionResource
		served bool
	}
	known := map[schema.GroupVersionKind]collection{}
	for _, r := range exempt {
		kind := schema.FromAPIVersionAndKind(r.APIVersion, r.Kind)
		of, seen := known[kind]
		if !seen {
			of.GroupVersionResource, of.served, err = l.server.Collection(ctx, kind)
			known[kind] = of
		}
		if err != nil {
			return nil, err
		}
		if !of.served {
			continue
		}
		isName := content.IsPathSegmentName
		if isName(r.Namespace) != nil || isName(r.Name) != nil || r.Name == "" {
			continue // no resource has such a name
		}
		object, err := l.server.Object(ctx, of.GroupVersionResource, r.Namespace, r.Name)
		if err != nil && !apierrors.IsForbidden(err) {
			return nil, err
		}
		if object != nil && err == nil {
			all = append(all, object.Object)
		}
	}
	return all, nil
}

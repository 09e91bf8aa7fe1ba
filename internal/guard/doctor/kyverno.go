package doctor

import (
	"cmp"
	"context"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/polex-dev/polex/internal/guard/cluster"
	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/pkg/exception"
)

// definitions checks how the API server converts and serves exceptions. A conversion webhook can
// change every version of an exception. Kyverno keeps the exceptions that it has read while its version
// is not served.
func (k *checkup) definitions(ctx context.Context) {
	const fine = "the API server converts exceptions itself, and serves the version that Kyverno reads"
	defer k.unlessFound("customresourcedefinitions", fine)()
	for _, gk := range k.Kinds {
		if gk.IsException() {
			k.definition(ctx, gk)
		}
	}
}

// definition checks the definition of one kind of exceptions.
func (k *checkup) definition(ctx context.Context, gk exception.GroupKind) {
	name, watched := cluster.DefinitionName(gk.Group), kyverno.WatchedVersion(gk)
	subject := "customresourcedefinitions/" + name
	definition := &unstructured.Unstructured{}
	definition.SetGroupVersionKind(cluster.DefinitionKind)
	err := k.Client.Get(ctx, types.NamespacedName{Name: name}, definition)
	const keeps = "Kyverno still applies the exceptions that it read before, also after their expiry"
	switch by := cluster.Conversion(definition); {
	case apierrors.IsNotFound(err):
		k.report(subject, "version-not-served", "it does not exist; if Kyverno runs, %s", keeps).Outcome = Doubtful
	case err != nil:
		k.unknown(subject, err)
	case !cluster.Serves(definition, watched):
		k.report(subject, "version-not-served", "it does not serve %s, in which Kyverno reads exceptions; %s",
			watched, keeps)
	case by != "":
		k.report(subject, "conversion-webhook", "%s can show Kyverno another exception than the signed one", by)
	default:
		if err := k.listed(ctx, gk, watched); err != nil {
			k.report(subject, "undecided", "exceptions cannot be listed in %s, so %s: %s", watched, keeps, err)
		}
	}
}

// listed lists all exceptions: one stored object that the API server cannot decode makes each list
// and watch fail. It reports deleted ones that are still there, and those that outlast their deletion.
func (k *checkup) listed(ctx context.Context, gk exception.GroupKind, version string) error {
	const deletes = time.Minute // the longest time of a deletion without finalizers
	var kept []string
	err := k.each(ctx, schema.GroupKind(gk).WithVersion(version), func(item *unstructured.Unstructured) {
		id := exception.Identity{GroupKind: gk, Namespace: item.GetNamespace(), Name: item.GetName()}.String()
		if doc, err := exception.FromObject(item.Object); err == nil && kyverno.KeepsDeleted(doc) {
			kept = append(kept, id)
		}
		if at := item.GetDeletionTimestamp(); at != nil && k.Now().Sub(at.Time) > deletes {
			k.report(id, "deletion-held", "it was deleted at %s, and the finalizers %q keep it; "+
				"Kyverno still applies it", timestamp(at.Time), item.GetFinalizers())
		}
	})
	if len(kept) > 0 {
		k.report(kept[0], "kept-by-kyverno", "Kyverno 1.19 still applies exceptions from policies of a "+
			"namespaced kind after their expiry and deletion; this is one of %d", len(kept))
	}
	return err
}

// each lists all objects of a kind, page by page.
func (k *checkup) each(ctx context.Context, kind schema.GroupVersionKind,
	visit func(*unstructured.Unstructured)) error {
	const perPage = 50 // of up to 1 MiB
	kind.Kind += "List"
	for next := ""; ; {
		page := &unstructured.UnstructuredList{}
		page.SetGroupVersionKind(kind)
		if err := k.Client.List(ctx, page, client.Limit(perPage), client.Continue(next)); err != nil {
			return err
		}
		for i := range page.Items {
			visit(&page.Items[i])
		}
		if next = page.GetContinue(); next == "" {
			return nil
		}
	}
}

// apiService names the server of a group and version.
var apiService = schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"}

// servers checks that the API server itself serves the kinds that the guard depends on. An
// aggregated server can give each client another answer.
func (k *checkup) servers(ctx context.Context) {
	const subject = "apiservices"
	defer k.unlessFound(subject, "the API server answers for exceptions itself")()
	groups := k.groups()
	k.ifServed(ctx, subject, apiService, func(s *unstructured.Unstructured) {
		group, _, _ := unstructured.NestedString(s.Object, "spec", "group")
		service, elsewhere, err := unstructured.NestedMap(s.Object, "spec", "service")
		if outcome, concerns := groups[group]; concerns && (err != nil || elsewhere) {
			k.report(subject+"/"+s.GetName(), "served-elsewhere",
				"the Service %v/%v answers for %s, and not the API server", service["namespace"], service["name"],
				group).Outcome = outcome
		}
	})
}

// ifServed lists objects of a kind. A kind that is not served has none.
func (k *checkup) ifServed(ctx context.Context, subject string, kind schema.GroupVersionKind,
	visit func(*unstructured.Unstructured)) {
	if err := k.each(ctx, kind, visit); !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err) {
		k.known(subject, err)
	}
}

// kyverno checks the flags of Kyverno's admission controller. None of them lets an unsigned
// exception pass the guard.
func (k *checkup) kyverno(ctx context.Context) {
	subject := "deployments of Kyverno in " + k.Kyverno
	var list appsv1.DeploymentList
	if !k.list(ctx, subject, &list, client.InNamespace(k.Kyverno)) {
		return
	}
	before, seen := len(k.findings), false
	for _, d := range list.Items {
		for _, c := range d.Spec.Template.Spec.Containers {
			given := flagsOf(append(c.Command, c.Args...))
			_, concerns := given["enablePolicyException"]
			if !concerns && d.Labels["app.kubernetes.io/component"] != "admission-controller" {
				continue
			}
			seen = true
			k.flags("deployments/"+d.Name, given)
			k.sees(ctx, "deployments/"+d.Name, cmp.Or(d.Spec.Template.Spec.ServiceAccountName, "default"))
		}
	}
	if seen && k.Guards != nil && !k.Guards(k.Kyverno) {
		k.found(subject, "namespace-not-guarded")
	}
	switch {
	case !seen:
		f := k.report(subject, "exceptions-disabled", "there is no admission controller of Kyverno")
		f.Hint = "name its namespace with --kyverno-namespace"
	case len(k.findings) == before:
		k.fine(subject, "Kyverno sees exceptions, and applies those of one namespace only")
	}
}

func (k *checkup) flags(subject string, given map[string]string) {
	if given["enablePolicyException"] != "true" {
		k.found(subject, "exceptions-disabled")
	}
	if from := given["exceptionNamespace"]; from == "*" || from == "" {
		k.found(subject, "exceptions-from-everywhere")
	}
}

// sees checks that a ServiceAccount of Kyverno may list and watch exceptions. Otherwise Kyverno keeps
// those that it has read, and never learns of a deletion.
func (k *checkup) sees(ctx context.Context, subject, account string) {
	for _, m := range k.servedKinds() {
		if !isException(m) {
			continue
		}
		lacking, err := k.lacking(ctx,
			need{m.Resource.Group, cluster.Plural, "", "", []string{"list", "watch"}}, account)
		if !k.known(subject, err) {
			return
		}
		if len(lacking) > 0 {
			k.report(subject, "kyverno-not-permitted", "the ServiceAccount %q may not %s %s; "+
				"Kyverno still applies the exceptions that it read before, also after their deletion",
				account, strings.Join(lacking, ", "), cluster.DefinitionName(m.Resource.Group))
		}
	}
}

// flagsOf reads flags like Go's flag package. A flag without a value is "true", unless the next
// word can be its value.
func flagsOf(args []string) map[string]string {
	flags := map[string]string{}
	for i, arg := range args {
		name, isFlag := strings.CutPrefix(arg, "-")
		if !isFlag {
			continue
		}
		name, value, hasValue := strings.Cut(strings.TrimPrefix(name, "-"), "=")
		if !hasValue {
			value = "true"
			if i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
				value = args[i+1]
			}
		}
		flags[name] = value
	}
	return flags
}

package doctor

import (
	"cmp"
	"context"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/polex-dev/polex/internal/guard/cluster"
)

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
		k.report(subject, "namespace-not-guarded", "exceptions may exempt objects in the namespace of Kyverno")
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
		k.report(subject, "exceptions-disabled", "Kyverno ignores all exceptions")
	}
	if from := given["exceptionNamespace"]; from == "*" || from == "" {
		k.report(subject, "exceptions-from-everywhere",
			"Kyverno applies exceptions from every namespace, at least those of policies.kyverno.io")
	}
}

// sees checks that a ServiceAccount of Kyverno may list and watch exceptions. Otherwise Kyverno keeps
// those that it has read, and never learns of a deletion.
func (k *checkup) sees(ctx context.Context, subject, account string) {
	for _, m := range k.servedKinds() {
		if !isException(m) {
			continue
		}
		lacking, err := k.lacking(ctx, need{m.Resource.Group, cluster.Plural, "", "", []string{"list", "watch"}}, account)
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

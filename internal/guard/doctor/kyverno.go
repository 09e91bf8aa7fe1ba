package doctor

import (
	"context"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// kyverno checks the flags of Kyverno's admission controller. None of them lets an unsigned
// exception pass the guard.
func (k *checkup) kyverno(ctx context.Context) {
	subject := "deployments of Kyverno in " + k.Kyverno
	var list appsv1.DeploymentList
	if err := k.Client.List(ctx, &list, client.InNamespace(k.Kyverno)); err != nil {
		k.unknown(subject, err)
		return
	}
	before, seen := len(k.found), false
	for _, d := range list.Items {
		for _, c := range d.Spec.Template.Spec.Containers {
			given := flagsOf(append(c.Command, c.Args...))
			if _, concerns := given["enablePolicyException"]; !concerns && d.Labels["app.kubernetes.io/component"] != "admission-controller" {
				continue
			}
			seen = true
			k.flags("deployments/"+d.Name, given)
		}
	}
	if seen && k.Guards != nil && !k.Guards(k.Kyverno) {
		k.add(Finding{Outcome: Doubtful, Subject: subject, Reason: ReasonNamespaceNotGuarded, Message: "exceptions may exempt objects in the namespace of Kyverno", Hint: "add it to guard.guardNamespaces of the configuration"})
	}
	switch {
	case !seen:
		k.add(Finding{Outcome: Doubtful, Subject: subject, Reason: ReasonExceptionsDisabled, Message: "there is no admission controller of Kyverno", Hint: "name its namespace with --kyverno-namespace"})
	case len(k.found) == before:
		k.fine(subject, "Kyverno applies exceptions, and only from one namespace")
	}
}

func (k *checkup) flags(subject string, given map[string]string) {
	if given["enablePolicyException"] != "true" {
		k.add(Finding{Outcome: Doubtful, Subject: subject, Reason: ReasonExceptionsDisabled, Message: "Kyverno ignores all exceptions", Hint: "run it with --enablePolicyException=true"})
	}
	if from := given["exceptionNamespace"]; from == "*" || from == "" {
		k.add(Finding{Outcome: Doubtful, Subject: subject, Reason: ReasonFromEverywhere, Message: "Kyverno applies exceptions from every namespace, at least those of policies.kyverno.io", Hint: "run it with --exceptionNamespace, and keep others out of that namespace"})
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
		name, value, said := strings.Cut(strings.TrimPrefix(name, "-"), "=")
		if !said {
			value = "true"
			if i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
				value = args[i+1]
			}
		}
		flags[name] = value
	}
	return flags
}

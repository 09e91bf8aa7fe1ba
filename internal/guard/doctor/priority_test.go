package doctor_test

import (
	"fmt"
	"testing"

	"github.com/polex-dev/polex/internal/guard/doctor"
	"github.com/polex-dev/polex/test/expect"
)

// flow returns a FlowSchema for all requests of some subjects.
func flow(name string, precedence int, subjects ...object) object {
	return object{"kind": "FlowSchema", "metadata": object{"name": name, "annotations": object{"apf.kubernetes.io/autoupdate-spec": "true"}}, "spec": object{
		"matchingPrecedence": precedence, "priorityLevelConfiguration": object{"name": "slow"},
		"rules": []object{{"subjects": subjects, "resourceRules": []object{{"verbs": []string{"*"}}}}},
	}}
}

// builtIn returns some of the objects that the API server creates.
func builtIn() []object {
	everybody := object{"kind": "Group", "group": object{"name": "system:authenticated"}}
	probes := flow("probes", 2, everybody)
	delete(probes["spec"].(object)["rules"].([]object)[0], "resourceRules")
	all := []object{
		probes, flow("system-nodes", 500, object{"kind": "Group", "group": object{"name": "system:nodes"}}),
		flow("kube-system-service-accounts", 900, object{"kind": "ServiceAccount", "serviceAccount": object{"namespace": "kube-system", "name": "*"}}),
		flow("kube-scheduler", 800, object{"kind": "User", "user": object{"name": "system:kube-scheduler"}}),
		flow("service-accounts", 9000, object{"kind": "Group", "group": object{"name": "system:serviceaccounts"}}),
		flow("global-default", 9900, everybody), flow("catch-all", 10000, everybody),
	}
	for _, name := range []string{"workload-low", "global-default", "system"} {
		all = append(all, object{"kind": "PriorityLevelConfiguration", "spec": object{"type": "Limited"},
			"metadata": object{"name": name, "annotations": object{"apf.kubernetes.io/autoupdate-spec": "true"}}})
	}
	return all
}

// TestPriority: each FlowSchema that can hold up the requests of the guard or of Kyverno is found, and no other.
func TestPriority(t *testing.T) {
	subject := func(kind, field, name string) object { return object{"kind": kind, field: object{"name": name}} }
	user := func(name string) object { return subject("User", "user", name) }
	group := func(name string) object { return subject("Group", "group", name) }
	account := func(namespace, name string) object {
		return object{"kind": "ServiceAccount", "serviceAccount": object{"namespace": namespace, "name": name}}
	}
	for name, tc := range map[string]struct {
		subject object
		at      int // 0: 100
		change  func(flow object)
		want    bool
	}{
		"the guard's account":             {subject: account("polex-system", "polex-guard"), want: true},
		"all accounts of its namespace":   {subject: account("polex-system", "*"), want: true},
		"Kyverno's account":               {subject: account("kyverno", "kyverno-admission-controller"), want: true},
		"an account of another namespace": {subject: account("team-a", "*")},
		"the guard's account as a user":   {subject: user("system:serviceaccount:polex-system:polex-guard"), want: true},
		"Kyverno's account as a user":     {subject: user("system:serviceaccount:kyverno:a"), want: true},
		"another account as a user":       {subject: user("system:serviceaccount:kyverno-2:a")},
		"the guard with static files":     {subject: user("polex-guard"), want: true},
		"every user":                      {subject: user("*"), want: true},
		"another user":                    {subject: user("alice")},
		"every group":                     {subject: group("*"), want: true},
		"who has logged in":               {subject: group("system:authenticated"), want: true},
		"every account":                   {subject: group("system:serviceaccounts"), want: true},
		"the accounts of a namespace":     {subject: group("system:serviceaccounts:kyverno"), want: true},
		"the accounts of another":         {subject: group("system:serviceaccounts:team-a")},
		"another group":                   {subject: group("system:nodes")},
		"nobody":                          {subject: object{"kind": "User"}},
		"right before the last":           {subject: user("*"), at: 9900, want: true},
		"after all others":                {subject: user("*"), at: 9901},
		"without limits": {subject: user("*"), change: func(f object) {
			f["spec"].(object)["priorityLevelConfiguration"] = object{"name": "exempt"}
		}},
		"for no objects": {subject: user("*"), change: func(f object) {
			delete(f["spec"].(object)["rules"].([]object)[0], "resourceRules")
		}},
		"of another type": {subject: user("*"), change: func(f object) { f["spec"] = "x" }, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			at := tc.at
			if at == 0 {
				at = 100
			}
			f := flow("f", at, tc.subject)
			if tc.change != nil {
				tc.change(f)
			}
			expect.Is(t, "found", tc.want, concerns(t, append(builtIn(), f), "flowschemas/f"))
		})
	}
	for n, o := range builtIn() {
		metadata := o["metadata"].(object)
		name := map[string]string{"FlowSchema": "flowschemas/", "PriorityLevelConfiguration": "prioritylevelconfigurations/"}[o["kind"].(string)] + metadata["name"].(string)
		want := map[string]bool{"flowschemas/service-accounts": true, "flowschemas/global-default": true,
			"prioritylevelconfigurations/workload-low": true, "prioritylevelconfigurations/global-default": true}[name]
		for _, annotations := range []object{{"apf.kubernetes.io/autoupdate-spec": "false"}, nil} {
			all := builtIn()
			all[n]["metadata"].(object)["annotations"] = annotations
			expect.Is(t, fmt.Sprintf("%s with the annotations %v", name, annotations), want, concerns(t, all, name))
		}
	}
}

// concerns reports whether a check has a finding about a subject, and fails the test if it has another
// one about requests.
func concerns(t *testing.T, flows []object, subject string) (found bool) {
	t.Helper()
	for _, f := range doctor.Run(t.Context(), (&api{flows: flows}).start(t)) {
		if f.Subject == subject {
			found = true
		} else if f.Reason == "served-last" {
			t.Errorf("%+v", f)
		}
	}
	return found
}

package story

import (
	"context"
	"fmt"
	"os"
)

// GuardAccount is the user name of the guard's ServiceAccount.
const GuardAccount = "system:serviceaccount:polex-system:polex-guard"

// guardAccount creates the guard's account with the delivered permissions, and returns the path of
// its kubeconfig.
func (w *World) guardAccount(ctx context.Context) (string, error) {
	for _, name := range []string{"namespace", "serviceaccount", "rbac"} {
		text, err := os.ReadFile(fmt.Sprintf("%s/policies/guard/base/%s.yaml", w.Root, name))
		if err != nil {
			return "", err
		}
		if err := w.Cluster.ApplyAll(ctx, text); err != nil {
			return "", err
		}
	}
	file := w.at("guard/kubeconfig")
	return file, w.Cluster.KubeconfigOf(ctx, "polex-system", "polex-guard", file)
}

// Lists is a permission to list resources of some API groups in all namespaces.
type Lists struct{ Groups, Resources string } // separated by commas

// Account creates an account with only these permissions, and returns the path of its kubeconfig.
// Without any, it has the default permissions.
func (w *World) Account(ctx context.Context, name string, may ...Lists) (string, error) {
	objects := fmt.Sprintf("{apiVersion: v1, kind: ServiceAccount, metadata: {name: %s, namespace: %s}}\n", name, Team)
	if len(may) > 0 {
		rules := ""
		for _, lists := range may {
			rules += fmt.Sprintf("- {apiGroups: [%s], resources: [%s], verbs: [list]}\n", lists.Groups, lists.Resources)
		}
		objects += fmt.Sprintf(`---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: %[1]s}
rules:
%[2]s---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %[1]s}
subjects: [{kind: ServiceAccount, name: %[1]s, namespace: %[3]s}]
`, name, rules, Team)
	}
	if err := w.Cluster.ApplyAll(ctx, []byte(objects)); err != nil {
		return "", err
	}
	file := w.at("home/" + name)
	return file, w.Cluster.KubeconfigOf(ctx, Team, name, file)
}

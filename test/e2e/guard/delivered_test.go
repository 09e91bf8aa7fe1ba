//go:build e2e

package guard

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/polex-dev/polex/test/e2e/fixture"
)

// overlays are the manifests that a user installs.
var overlays = []string{"cert-manager", "self-managed"}

// TestDeliveredTrustsNobody: with the unchanged manifests, the guard does not start, and prints the
// reason.
func TestDeliveredTrustsNobody(t *testing.T) {
	for _, overlay := range overlays {
		delivered := built(t, "overlays/"+overlay)
		apply(t, namespaceOf(t, delivered))
		i := pod(t, delivered)
		out, err := exec.CommandContext(t.Context(), folder+"/polex-guard", i.args...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "the trust policy names no authority") {
			t.Errorf("%s: %v\n%s", overlay, err, out)
		}
	}
}

// namespaceOf returns the objects that the token of the guard's account requires: its Namespace and
// ServiceAccount.
func namespaceOf(t *testing.T, manifests string) string {
	t.Helper()
	return edited(t, manifests, func(o *unstructured.Unstructured) bool {
		return o.GetKind() == "Namespace" || o.GetKind() == "ServiceAccount"
	})
}

// TestDeliveredApply: the API server accepts every object of every folder, knows all fields, and
// accepts it again.
func TestDeliveredApply(t *testing.T) {
	definedCertificates(t)
	for _, overlay := range overlays {
		manifests := installation{overlay: overlay}.build(t)
		apply(t, manifests)
		t.Cleanup(func() { withdraw(t, manifests) })
		apply(t, manifests)
		if image := deployment(t, manifests).Spec.Template.Spec.Containers[0].Image; !strings.Contains(image, "@sha256:") {
			t.Errorf("%s: the image is %s", overlay, image)
		}
	}
}

// withdraw deletes the objects that affect the whole cluster.
func withdraw(t *testing.T, manifests string) {
	t.Helper()
	for _, o := range objectsOf(t, manifests) {
		switch o.GetKind() {
		case "ValidatingWebhookConfiguration", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding":
			args := []string{"delete", "--ignore-not-found", o.GetKind(), o.GetName()}
			if ns := o.GetNamespace(); ns != "" {
				args = append(args, "--namespace", ns)
			}
			cmd := exec.Command(fixture.Kubectl(), append(args, "--kubeconfig", live.Kubeconfig())...)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		}
	}
}

// TestDeliveredRestricted: the namespace enforces the level restricted. It admits a Pod of the
// Deployment, and rejects less restricted ones.
func TestDeliveredRestricted(t *testing.T) {
	manifests := installation{overlay: "self-managed"}.build(t)
	apply(t, namespaceOf(t, manifests))
	yes, no := true, false
	for _, tc := range []struct {
		name   string
		loosen func(*corev1.PodSpec)
	}{
		{"as delivered", nil},
		{"as root", func(s *corev1.PodSpec) { s.SecurityContext.RunAsUser = new(int64) }},
		{"as root by its image", func(s *corev1.PodSpec) { s.SecurityContext.RunAsNonRoot = &no }},
		{"without seccomp", func(s *corev1.PodSpec) { s.SecurityContext.SeccompProfile = nil }},
		{"with capabilities", func(s *corev1.PodSpec) { s.Containers[0].SecurityContext.Capabilities = nil }},
		{"with escalation", func(s *corev1.PodSpec) { s.Containers[0].SecurityContext.AllowPrivilegeEscalation = &yes }},
		{"with the host's network", func(s *corev1.PodSpec) { s.HostNetwork = true }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			template := deployment(t, manifests).Spec.Template
			if tc.loosen != nil {
				tc.loosen(&template.Spec)
			}
			text, err := json.Marshal(corev1.Pod{
				TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
				ObjectMeta: metav1.ObjectMeta{Name: "polex-guard-0", Namespace: guardNamespace, Labels: template.Labels},
				Spec:       template.Spec,
			})
			if err != nil {
				t.Fatal(err)
			}
			_, err = kubectl(t, string(text), "create", "--dry-run=server", "--validate=strict", "-f", "-")
			switch {
			case tc.loosen == nil && err != nil:
				t.Error(err)
			case tc.loosen != nil && (err == nil || !strings.Contains(err.Error(), `violates PodSecurity "restricted`)):
				t.Errorf("it is admitted: %v", err)
			}
		})
	}
	spec := deployment(t, manifests).Spec.Template.Spec
	if c := spec.Containers[0].SecurityContext; c.ReadOnlyRootFilesystem == nil || !*c.ReadOnlyRootFilesystem {
		t.Error("its root file system can be written to, which the level restricted does not ask about")
	}
}

// TestDeliveredPorts: the Service, the NetworkPolicy and the probes name the default ports of the
// process.
func TestDeliveredPorts(t *testing.T) {
	manifests := built(t, "base")
	ports := map[string]int32{}
	for _, p := range deployment(t, manifests).Spec.Template.Spec.Containers[0].Ports {
		ports[p.Name] = p.ContainerPort
	}
	help, err := exec.CommandContext(t.Context(), folder+"/polex-guard", "serve", "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"webhook", "metrics", "health"} {
		if !strings.Contains(string(help), fmt.Sprintf(`(default ":%d")`, ports[name])) {
			t.Errorf("the port %s is %d, and not where the guard listens", name, ports[name])
		}
	}
	var service corev1.Service
	only(t, manifests, "Service", "polex-guard", &service)
	for _, p := range service.Spec.Ports {
		if ports[p.TargetPort.StrVal] == 0 {
			t.Errorf("the Service leads to %s", p.TargetPort.String())
		}
	}
}

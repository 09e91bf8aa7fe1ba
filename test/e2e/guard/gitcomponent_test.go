//go:build e2e

package guard

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/polex-dev/polex/test/e2e/fixture"
)

// TestDeliveredGit: with the component, the guard reads the files of git-sync. git-sync uses the
// network, and has none of the guard's permissions.
func TestDeliveredGit(t *testing.T) {
	for _, overlay := range overlays {
		t.Run(overlay, func(t *testing.T) {
			manifests := withGit(t, overlay)
			apply(t, namespaceOf(t, manifests))
			spec := deployment(t, manifests).Spec.Template.Spec
			if len(spec.Containers) != 2 || spec.Containers[1].Name != "git-sync" {
				t.Fatalf("the containers are %v", spec.Containers)
			}
			guard, sync := spec.Containers[0], spec.Containers[1]
			if from, to := mountOf(guard, "git"), mountOf(sync, "git"); !from.ReadOnly || to.ReadOnly ||
				!slices.Contains(guard.Args, "--git="+from.MountPath) || !slices.Contains(sync.Args, "--root="+to.MountPath) {
				t.Errorf("the guard reads %v of %v, and git-sync writes %v of %v", from, guard.Args, to, sync.Args)
			}
			if spec.AutomountServiceAccountToken == nil || *spec.AutomountServiceAccountToken {
				t.Error("every container is given the token")
			}
			if mountOf(guard, "token").MountPath != "/var/run/secrets/kubernetes.io/serviceaccount" {
				t.Error("the guard has no token")
			}
			for _, v := range sync.VolumeMounts {
				if !strings.HasPrefix(v.Name, "git") {
					t.Errorf("git-sync sees %s", v.Name)
				}
			}
			text, err := json.Marshal(corev1.Pod{
				TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
				ObjectMeta: metav1.ObjectMeta{Name: "polex-guard-0", Namespace: guardNamespace},
				Spec:       spec,
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := kubectl(t, string(text), "create", "--dry-run=server", "--validate=strict", "-f", "-"); err != nil {
				t.Error(err)
			}
		})
	}
}

// withGit builds an overlay with the component.
func withGit(t *testing.T, overlay string) string {
	t.Helper()
	return withComponent(t, overlay, "git")
}

// withComponent builds an overlay with a component.
func withComponent(t *testing.T, overlay, component string) string {
	t.Helper()
	dir := t.TempDir()
	relative := func(name string) string {
		path, err := filepath.Rel(dir, fixture.FromRoot(manifestsFolder+"/"+name))
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	text := fmt.Sprintf("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [%s]\ncomponents: [%s]\n",
		relative("overlays/"+overlay), relative("components/"+component))
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return mustKubectl(t, "", "kustomize", dir)
}

func mountOf(c corev1.Container, name string) corev1.VolumeMount {
	for _, v := range c.VolumeMounts {
		if v.Name == name {
			return v
		}
	}
	return corev1.VolumeMount{}
}

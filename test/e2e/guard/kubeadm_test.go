//go:build e2e

package guard

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/e2e/servers"
	"github.com/polex-dev/polex/test/must"
)

// TestKubeadm: the kubeadm.yaml and the commands of docs/how-to/static-admission.md give an API server
// that can read the files, and a kubeconfig for the user of the guard.
func TestKubeadm(t *testing.T) {
	dir := t.TempDir()
	page := must.Get(os.ReadFile(fixture.FromRoot("docs/how-to/static-admission.md")))(t)
	block := regexp.MustCompile("(?ms)^ *```yaml\n( *# kubeadm.yaml.*?)^ *```$").FindSubmatch(page)
	command := regexp.MustCompile(`(?m)^ *kubeadm (kubeconfig user .*) > kubeconfig$`).FindSubmatch(page)
	if block == nil || command == nil {
		t.Fatal("the page has no kubeadm.yaml or no kubeconfig")
	}
	program, config := servers.Kubernetes(fixture.FromRoot(binaries), "kubeadm"), filepath.Join(dir, "kubeadm.yaml")
	list := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes")
	list.Dir = fixture.FromRoot("test/e2e/tools/kubernetes/" + os.Getenv("KUBERNETES"))
	version := must.Get(list.Output())(t)
	own := "kubernetesVersion: " + string(version) + "certificatesDir: " + dir + "\ncontrolPlaneEndpoint: 127.0.0.1:6443\n"
	must.Do(t, os.WriteFile(config, []byte(regexp.MustCompile("(?m)^   ").ReplaceAllString(string(block[1]), "")+own),
		0o600))
	kubeadm := func(args ...string) []byte {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program, append(args, "--config", config)...)
		cmd.Env = append(os.Environ(), "KUBEADM_INIT_DRYRUN_DIR="+dir)
		cmd.Stderr = new(strings.Builder)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("kubeadm %s: %v\n%s%s", strings.Join(args, " "), err, out, cmd.Stderr)
		}
		return out
	}

	kubeadm("init", "phase", "control-plane", "apiserver", "--dry-run")
	manifest := must.Get(os.ReadFile(filepath.Join(dir, "kube-apiserver.yaml")))(t)
	var pod corev1.Pod
	must.Do(t, yaml.Unmarshal(manifest, &pod))
	server, reads := pod.Spec.Containers[0], 0
	for _, volume := range pod.Spec.Volumes {
		if volume.HostPath != nil && volume.HostPath.Path == "/etc/kubernetes/polex" && *volume.HostPath.Type == corev1.HostPathDirectory {
			for _, mount := range server.VolumeMounts {
				if mount.Name == volume.Name && mount.MountPath == volume.HostPath.Path && mount.ReadOnly {
					reads++
				}
			}
		}
	}
	const flag = "admission-control-config-file"
	if !slices.Contains(server.Command, "--"+flag+"=/etc/kubernetes/polex/admission.yaml") || reads != 1 {
		t.Errorf("the API server does not read the files:\n%s", manifest)
	}

	// The next upgrade reads the settings from the cluster.
	upload := regexp.MustCompile("`kubeadm (init phase upload-config kubeadm) --config kubeadm.yaml`").FindSubmatch(page)
	if upload == nil {
		t.Fatal("the page does not upload the settings")
	}
	kubeadm(append(strings.Fields(string(upload[1])), "--kubeconfig", live.Kubeconfig())...)
	if err := contains("/api/v1/namespaces/kube-system/configmaps/kubeadm-config", flag)(t.Context()); err != nil {
		t.Error(err)
	}

	kubeadm("init", "phase", "certs", "ca")
	access := must.Get(clientcmd.Load(kubeadm(strings.Fields(string(command[1]))...)))(t)
	user := access.AuthInfos[access.Contexts[access.CurrentContext].AuthInfo]
	raw, _ := pem.Decode(user.ClientCertificateData)
	certificate := must.Get(x509.ParseCertificate(raw.Bytes))(t)
	if name := certificate.Subject; name.CommonName != "polex-guard" || len(name.Organization) > 0 {
		t.Errorf("the user is %s", name)
	}
	if left := time.Until(certificate.NotAfter).Round(time.Hour); left != 8760*time.Hour {
		t.Errorf("it is valid for %s", left)
	}
}

//go:build e2e

package guard

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/polex-dev/polex/test/e2e/servers"
)

// pod runs the guard according to the Deployment in some manifests: its arguments, variables,
// ConfigMap files, and the token of its ServiceAccount. Flags replace the rest of a Pod: the
// address of the API server, the namespace, and free ports.
func pod(t *testing.T, manifests string) *instance {
	t.Helper()
	i := &instance{dir: t.TempDir()}
	i.group = &servers.Group{Binaries: folder, Dir: i.dir}
	container := deployment(t, manifests).Spec.Template.Spec.Containers[0]
	i.limits = container.Resources
	loopback := func(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
	free, err := servers.FreePorts(3)
	if err != nil {
		t.Fatal(err)
	}
	i.webhook, i.metrics, i.health = loopback(free[0]), loopback(free[1]), loopback(free[2])
	i.kubeconfig = i.asAccount(t)
	var data corev1.ConfigMap
	only(t, manifests, "ConfigMap", "polex-guard", &data)
	for _, mounted := range container.VolumeMounts {
		if err := os.Mkdir(i.mounted(mounted.MountPath), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	mount(t, i.mounted("/etc/polex"), data.Data)
	i.config = filepath.Join(i.mounted("/etc/polex"), "config.yaml")
	for _, arg := range container.Args {
		for _, mounted := range container.VolumeMounts {
			arg = strings.Replace(arg, "="+mounted.MountPath, "="+i.mounted(mounted.MountPath), 1)
		}
		i.args = append(i.args, arg)
	}
	i.args = append(i.args, "--kubeconfig", i.kubeconfig, "--namespace", guardNamespace,
		"--webhook-address", i.webhook, "--metrics-address", i.metrics, "--health-address", i.health)
	for _, v := range container.Env {
		i.env = append(i.env, v.Name+"="+v.Value)
	}
	return i
}

// mounted returns the path of a folder of the Pod.
func (i *instance) mounted(path string) string {
	return filepath.Join(i.dir, strings.ReplaceAll(strings.Trim(path, "/"), "/", "-"))
}

// start starts the process.
func (i *instance) start(t *testing.T) {
	t.Helper()
	if err := i.group.Run(context.Background(), servers.Command{Program: "polex-guard", End: syscall.SIGTERM, Args: i.args, Env: i.env}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(i.group.Logs())
		}
		i.group.Stop()
	})
}

// asAccount writes a kubeconfig with a token of the guard's ServiceAccount.
func (i *instance) asAccount(t *testing.T) string {
	t.Helper()
	path := filepath.Join(i.dir, "kubeconfig")
	if err := live.KubeconfigOf(t.Context(), guardNamespace, "polex-guard", path); err != nil {
		t.Fatal(err)
	}
	return path
}

// serviceToLoopback makes the guard reachable for the API server. The Service leads to loopback,
// and the webhooks use the port of the process. All other fields are as delivered.
func (i *instance) serviceToLoopback(t *testing.T) {
	t.Helper()
	_, port, _ := strings.Cut(i.webhook, ":")
	patchedByKubectl(t, "service/polex-guard", `{"spec":{"type":"ExternalName","externalName":"localhost","selector":null}}`)
	patchedByKubectl(t, "validatingwebhookconfiguration/polex-guard", `[{"op":"replace","path":"/webhooks/0/clientConfig/service/port","value":`+port+`},
{"op":"replace","path":"/webhooks/1/clientConfig/service/port","value":`+port+`}]`)
}

// patchedByKubectl patches an object of the manifests: a list is a JSON patch.
func patchedByKubectl(t *testing.T, object, patch string) {
	t.Helper()
	kind := "merge"
	if strings.HasPrefix(patch, "[") {
		kind = "json"
	}
	mustKubectl(t, "", "patch", object, "--namespace", guardNamespace, "--type", kind, "--patch", patch)
}

// certifiedBy writes the guard's certificate authority into the webhooks, like cert-manager's
// injector.
func certifiedBy(t *testing.T, bundle []byte) {
	t.Helper()
	text, err := json.Marshal(base64.StdEncoding.EncodeToString(bundle))
	if err != nil {
		t.Fatal(err)
	}
	patchedByKubectl(t, "validatingwebhookconfiguration/polex-guard", `[{"op":"add","path":"/webhooks/0/clientConfig/caBundle","value":`+string(text)+`},
{"op":"add","path":"/webhooks/1/clientConfig/caBundle","value":`+string(text)+`}]`)
}

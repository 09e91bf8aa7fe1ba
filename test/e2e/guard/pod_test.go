//go:build e2e

package guard

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/internal/guard"
	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/e2e/servers"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
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
	free := must.Get(servers.FreePorts(3))(t)
	i.webhook, i.metrics, i.health = loopback(free[0]), loopback(free[1]), loopback(free[2])
	i.kubeconfig = i.asAccount(t)
	var data corev1.ConfigMap
	only(t, manifests, "ConfigMap", "polex-guard", &data)
	for _, mounted := range container.VolumeMounts {
		must.Do(t, os.Mkdir(i.mounted(mounted.MountPath), 0o700))
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
	must.Do(t, i.group.Run(context.Background(), servers.Command{Program: "polex-guard", End: syscall.SIGTERM,
		Args: i.args, Env: i.env}))
	fixture.StopAfter(t, i.group)
}

// asAccount writes a kubeconfig with a token of the guard's ServiceAccount.
func (i *instance) asAccount(t *testing.T) string {
	t.Helper()
	path := filepath.Join(i.dir, "kubeconfig")
	must.Do(t, live.KubeconfigOf(t.Context(), guardNamespace, "polex-guard", path))
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

// certifiedBy writes the guard's certificate authority into the webhooks, like cert-manager's injector.
func certifiedBy(t *testing.T, bundle []byte) {
	t.Helper()
	text := must.Get(json.Marshal(base64.StdEncoding.EncodeToString(bundle)))(t)
	patchedByKubectl(t, "validatingwebhookconfiguration/polex-guard", `[{"op":"add","path":"/webhooks/0/clientConfig/caBundle","value":`+string(text)+`},
{"op":"add","path":"/webhooks/1/clientConfig/caBundle","value":`+string(text)+`}]`)
}

// staysWithinLimits: after all of its tasks and many of the largest reviews, the peak memory of the
// guard is below the Deployment's limit. The garbage collector's limit is lower still.
func (i *instance) staysWithinLimits(t *testing.T) {
	t.Helper()
	limit := i.limits.Limits.Memory()
	var soft resource.Quantity
	for _, v := range i.env {
		if text, found := strings.CutPrefix(v, "GOMEMLIMIT="); found {
			soft = resource.MustParse(strings.TrimSuffix(text, "B"))
		}
	}
	if soft.IsZero() || soft.Cmp(*limit) >= 0 {
		t.Errorf("memory is collected at %s, and the limit is %s", &soft, limit)
	}
	if runtime.GOOS != "linux" {
		t.Skip("only Linux says what a process has used at most")
	}
	after := i.peak(t)
	for _, body := range largest() {
		i.post(t, 64, body)
	}
	flooded := i.peak(t)
	t.Logf("memory at most: %d MiB with its duties, %d MiB after the largest reviews, of %s", after>>20, flooded>>20, limit)
	expect.That(t, flooded < limit.Value(), "it used %d bytes, and may use %d", flooded, limit.Value())
	expect.NoError(t, get(t.Context(), "http://"+i.health+"/readyz"))
}

// largest returns reviews of the maximum size that need much memory: an object of many small parts,
// and one with a long text.
func largest() [][]byte {
	const head = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","kind":{"group":"kyverno.io","version":"v2","kind":"PolicyException"},` +
		`"resource":{"group":"kyverno.io","version":"v2","resource":"policyexceptions"},"name":"a","namespace":"b","operation":"CREATE",` +
		`"object":{"apiVersion":"kyverno.io/v2","kind":"PolicyException","metadata":{"name":"a","namespace":"b"},"spec":`
	var bodies [][]byte
	for _, shape := range []struct{ open, part, end string }{{"[", "{},", "{}]}}}"}, {"[", "[],", "[]]}}}"}, {`{"x":1,"a":"`, "x", `"}}}}`}} {
		most := guard.MaxReview - len(head) - len(shape.open) - len(shape.end)
		bodies = append(bodies, []byte(head+shape.open+strings.Repeat(shape.part, most/len(shape.part))+shape.end))
	}
	return bodies
}

// post sends a review many times in parallel. Each gets an answer.
func (i *instance) post(t *testing.T, times int, body []byte) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer client.CloseIdleConnections()
	var sending sync.WaitGroup
	for range times {
		sending.Go(func() {
			answer, err := client.Post("https://"+i.webhook+"/admit", "application/json", bytes.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			defer answer.Body.Close()
			if _, err := io.Copy(io.Discard, answer.Body); err != nil {
				t.Error(err)
			}
		})
	}
	sending.Wait()
}

var highWater = regexp.MustCompile(`(?m)^VmHWM:\s+([0-9]+) kB$`)

// peak returns the peak memory of the process, in bytes.
func (i *instance) peak(t *testing.T) int64 {
	t.Helper()
	lines := must.Get(filepath.Glob("/proc/[0-9]*/cmdline"))(t)
	for _, line := range lines {
		raw, err := os.ReadFile(line)
		if err != nil || !bytes.HasPrefix(raw, []byte(folder+"/polex-guard\x00")) || !bytes.Contains(raw, []byte(i.webhook)) {
			continue
		}
		status := must.Get(os.ReadFile(filepath.Join(filepath.Dir(line), "status")))(t)
		if found := highWater.FindSubmatch(status); found != nil {
			return must.Get(strconv.ParseInt(string(found[1]), 10, 64))(t) << 10
		}
	}
	t.Fatalf("there is no process that answers at %s", i.webhook)
	return 0
}

// TestKubeadm: the kubeadm.yaml and the commands of docs/how-to/static-admission.md give an API server
// that can read the files, and a kubeconfig for the user of the guard.
func TestKubeadm(t *testing.T) {
	dir := t.TempDir()
	page := must.Get(os.ReadFile(fixture.FromRoot("docs/how-to/static-admission.md")))(t)
	block := regexp.MustCompile("(?ms)^ *```yaml\n( *# kubeadm.yaml.*?)^ *```$").FindSubmatch(page)
	command := regexp.MustCompile(`(?m)^ *kubeadm (kubeconfig user .*) > kubeconfig$`).FindSubmatch(page)
	must.That(t, block != nil && command != nil, "the page has no kubeadm.yaml or no kubeconfig")
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
	expect.That(t, slices.Contains(server.Command, "--"+flag+"=/etc/kubernetes/polex/admission.yaml") && reads == 1,
		"the API server does not read the files:\n%s", manifest)

	// The next upgrade reads the settings from the cluster.
	upload := regexp.MustCompile("`kubeadm (init phase upload-config kubeadm) --config kubeadm.yaml`").FindSubmatch(page)
	must.That(t, upload != nil, "the page does not upload the settings")
	kubeadm(append(strings.Fields(string(upload[1])), "--kubeconfig", live.Kubeconfig())...)
	expect.NoError(t, contains("/api/v1/namespaces/kube-system/configmaps/kubeadm-config", flag)(t.Context()))

	kubeadm("init", "phase", "certs", "ca")
	access := must.Get(clientcmd.Load(kubeadm(strings.Fields(string(command[1]))...)))(t)
	user := access.AuthInfos[access.Contexts[access.CurrentContext].AuthInfo]
	raw, _ := pem.Decode(user.ClientCertificateData)
	certificate := must.Get(x509.ParseCertificate(raw.Bytes))(t)
	name := certificate.Subject
	expect.That(t, name.CommonName == "polex-guard" && len(name.Organization) == 0, "the user is %s", name)
	expect.Is(t, "validity", 8760*time.Hour, time.Until(certificate.NotAfter).Round(time.Hour))
}

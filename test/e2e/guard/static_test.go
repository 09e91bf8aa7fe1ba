//go:build e2e

package guard

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/e2e/servers"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// staticWorld is a cluster whose API server reads the webhook and the policies of the guard from files.
type staticWorld struct {
	*cluster.Cluster
	guard   *instance
	files   string // the folder that kustomize filled
	loaded  string // the copy on the disk of the API server
	signing string // path of the CA that signs client certificates, without its ending
}

// staticCluster starts the API server on an empty etcd, and no guard.
func staticCluster(t *testing.T) *staticWorld {
	t.Helper()
	dir := t.TempDir()
	w := &staticWorld{files: filepath.Join(dir, "guard/polex"), loaded: filepath.Join(dir, "loaded"), signing: filepath.Join(dir, "ca/tls")}
	port := must.Get(servers.FreePorts(1))(t)
	address := fmt.Sprintf("127.0.0.1:%d", port[0])
	w.guard = &instance{dir: filepath.Join(dir, "guard"), webhook: address}
	for _, folder := range []string{w.guard.dir, filepath.Dir(w.signing), filepath.Join(dir, "cluster")} {
		must.Do(t, os.Mkdir(folder, 0o700))
	}
	clients := newAuthority(t)
	private := must.Get(x509.MarshalPKCS8PrivateKey(clients.key))(t)
	for ending, text := range map[string][]byte{".crt": clients.certificate(), ".key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})} {
		must.Do(t, os.WriteFile(w.signing+ending, text, 0o600))
	}
	w.follow(t, "openssl req -x509")
	w.kustomizations(t)
	w.follow(t, "kubectl kustomize webhooks")
	config := must.Get(os.ReadFile(fixture.FromRoot(staticManifests + "/admission.yaml")))(t)
	must.Do(t, os.WriteFile(filepath.Join(w.files, "admission.yaml"), bytes.ReplaceAll(config,
		[]byte("/etc/kubernetes/polex"), []byte(w.loaded)), 0o600))
	must.Do(t, os.CopyFS(w.loaded, os.DirFS(w.files)))
	flags := []string{"--client-ca-file=" + w.signing + ".crt", "--admission-control-config-file=" + filepath.Join(w.loaded, "admission.yaml")}
	if os.Getenv("KUBERNETES") == "1.36" {
		flags = append(flags, "--feature-gates=ManifestBasedAdmissionControlConfig=true")
	}
	w.Cluster = must.Get(fixture.Cluster(context.Background(), cluster.Options{Dir: filepath.Join(dir, "cluster"),
		WithoutKyverno: true, Flags: flags}))(t)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(w.Logs())
		}
		_ = w.Close()
	})
	// The controllers of Kubernetes that write in every namespace, and that sign certificates.
	must.Do(t, w.Run(context.Background(), servers.Command{Program: servers.Kubernetes(fixture.FromRoot(binaries),
		"kube-controller-manager"), Args: []string{
		"--kubeconfig=" + w.Kubeconfig(), "--leader-elect=false", "--secure-port=0", "--root-ca-file=" + w.signing + ".crt",
		"--cluster-signing-cert-file=" + w.signing + ".crt", "--cluster-signing-key-file=" + w.signing + ".key",
		"--controllers=namespace-controller,garbage-collector-controller,serviceaccount-controller,root-ca-certificate-publisher-controller,certificatesigningrequest-signing-controller,clusterrole-aggregation-controller,validatingadmissionpolicy-status-controller",
	}}))
	return w
}

const (
	staticPage      = "docs/how-to/static-admission.md"
	staticManifests = manifestsFolder + "/static"
)

// onPage returns the block of the page that begins with a comment, with the manifests of this
// repository seen from a folder.
func onPage(t *testing.T, comment, from string) string {
	t.Helper()
	page := must.Get(os.ReadFile(fixture.FromRoot(staticPage)))(t)
	relative := must.Get(filepath.Rel(from, fixture.FromRoot(".")))(t)
	for _, m := range regexp.MustCompile("(?ms)^( *)```yaml\n(.*?)^ *```$").FindAllSubmatch(page, -1) {
		text := strings.ReplaceAll("\n"+string(m[2]), "\n"+string(m[1]), "\n")[1:]
		if strings.HasPrefix(text, comment+"\n") {
			return strings.NewReplacer("https://github.com/polex-dev/polex//", relative+"/", "?ref=<commit>", "").Replace(text)
		}
	}
	t.Fatalf("the page has no block with %q", comment)
	return ""
}

// kustomizations writes the kustomizations of the page into the folder of the guard, for its port.
func (w *staticWorld) kustomizations(t *testing.T) {
	t.Helper()
	for _, name := range []string{"webhooks", "policies"} {
		dir := filepath.Join(w.guard.dir, name)
		text := onPage(t, "# "+name+"/kustomization.yaml", dir)
		if name == "webhooks" {
			text += strings.ReplaceAll(onPage(t, "# webhooks/kustomization.yaml, for a guard behind a Service", dir), "10.96.0.9", w.guard.webhook)
		}
		must.Do(t, errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "kustomization.yaml"),
			[]byte(text), 0o600)))
	}
	ca := must.Get(os.ReadFile(filepath.Join(w.guard.dir, "ca.crt")))(t)
	must.Do(t, os.WriteFile(filepath.Join(w.guard.dir, "webhooks/ca.crt"), ca, 0o600))
}

// follow runs a block of docs/how-to/static-admission.md in the folder of the guard.
func (w *staticWorld) follow(t *testing.T, part string) {
	t.Helper()
	page := must.Get(os.ReadFile(fixture.FromRoot(staticPage)))(t)
	for _, m := range regexp.MustCompile("(?ms)^ *```sh\n(.*?)^ *```$").FindAllSubmatch(page, -1) {
		if !bytes.Contains(m[1], []byte(part)) {
			continue
		}
		cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", string(m[1]))
		cmd.Dir, cmd.Env = w.guard.dir, append(os.Environ(), "PATH="+filepath.Dir(fixture.Kubectl())+string(filepath.ListSeparator)+os.Getenv("PATH"))
		must.Run(t, cmd)
		return
	}
	t.Fatalf("the page has no block with %q", part)
}

// TestStaticPatches: the patches of the page limit the writers, and leave out the policy about the
// namespace of the guard.
func TestStaticPatches(t *testing.T) {
	const of = "kind: ValidatingAdmissionPolicy\nmetadata:\n  name: "
	for comment, tc := range map[string]struct {
		more, has, lacks string
	}{
		"# policies/kustomization.yaml, to limit the writers":         {"writers", "platform-admins", "polex-exec"},
		"# policies/kustomization.yaml, for a guard behind a Service": {"", of + "polex-guard-cluster.static.k8s.io", of + "polex-guard-namespace.static.k8s.io"},
	} {
		dir := t.TempDir()
		text := onPage(t, "# policies/kustomization.yaml", dir)
		if tc.more != "" {
			text = strings.Replace(text, "/static/exec", "/static/"+tc.more, 1)
		}
		must.Do(t, os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text+onPage(t, comment, dir)), 0o600))
		got := mustKubectl(t, "", "kustomize", dir)
		expect.That(t, strings.Contains(got, tc.has) && !strings.Contains(got, tc.lacks), "%s builds\n%s", comment, got)
	}
}

// kubectl runs kubectl as the administrator.
func (w *staticWorld) kubectl(t *testing.T, input string, args ...string) error {
	t.Helper()
	_, err := kubectlOf(t, w.Kubeconfig(), input, args...)
	return err
}

func (w *staticWorld) mustKubectl(t *testing.T, input string, args ...string) {
	t.Helper()
	err := w.kubectl(t, input, args...)
	must.That(t, err == nil, "kubectl %s: %v", strings.Join(args, " "), err)
}

// do sends a request.
func (w *staticWorld) do(t *testing.T, r cluster.Request) response {
	t.Helper()
	return response{must.Get(w.Do(t.Context(), r))(t)}
}

// eventually repeats a check.
func (w *staticWorld) eventually(t *testing.T, what string, ask func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	must.Do(t, w.Until(ctx, what, ask))
}

// certificateFor requests a client certificate from the cluster, and returns a kubeconfig with it.
func (w *staticWorld) certificateFor(t *testing.T, user string, groups ...string) string {
	t.Helper()
	dir := t.TempDir()
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	der := must.Get(x509.CreateCertificateRequest(rand.Reader,
		&x509.CertificateRequest{Subject: pkix.Name{CommonName: user, Organization: groups}}, key))(t)
	name := "request-" + strings.ReplaceAll(user, ":", "-")
	w.mustKubectl(t, fmt.Sprintf(`{apiVersion: certificates.k8s.io/v1, kind: CertificateSigningRequest, metadata: {name: %s}, spec: {signerName: kubernetes.io/kube-apiserver-client, usages: [client auth], request: %s}}`,
		name, base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))), "create", "-f", "-")
	w.mustKubectl(t, "", "certificate", "approve", name)
	var certificate []byte
	w.eventually(t, "the certificate of "+user, func(ctx context.Context) error {
		answer, err := w.Get(ctx, "/apis/certificates.k8s.io/v1/certificatesigningrequests/"+name)
		if err != nil {
			return err
		}
		var request struct{ Status struct{ Certificate []byte } }
		if err := json.Unmarshal(answer.Body, &request); err != nil {
			return err
		}
		if certificate = request.Status.Certificate; len(certificate) == 0 {
			return fmt.Errorf("it is not signed: %s", answer.Body)
		}
		return nil
	})
	private := must.Get(x509.MarshalPKCS8PrivateKey(key))(t)
	text := must.Get(os.ReadFile(w.Kubeconfig()))(t)
	before, after, _ := strings.Cut(string(text), "user: {token: ")
	_, after, _ = strings.Cut(after, "}")
	path := filepath.Join(dir, "kubeconfig")
	kubeconfig := fmt.Sprintf("%suser: {client-certificate-data: %s, client-key-data: %s}%s", before, base64.StdEncoding.EncodeToString(certificate),
		base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})), after)
	must.Do(t, os.WriteFile(path, []byte(kubeconfig), 0o600))
	return path
}

// start starts the guard with a client certificate, and waits until it is ready.
func (w *staticWorld) start(t *testing.T) {
	t.Helper()
	i := w.guard
	i.config, i.kubeconfig = filepath.Join(i.dir, "config.yaml"), w.certificateFor(t, "polex-guard")
	i.configure(t, "")
	// With the flags of the static Pod that are about neither addresses nor files.
	var pod corev1.Pod
	text, err := os.ReadFile(fixture.FromRoot("examples/static-pod/polex-guard.yaml"))
	if err == nil {
		err = yaml.UnmarshalStrict(text, &pod)
	}
	must.Do(t, err)
	flags := []string{"--recheck-interval", "5s"}
	for _, arg := range pod.Spec.Containers[0].Args[1:] {
		name, value, _ := strings.Cut(arg, "=")
		switch {
		case name == "--webhook-address" && value == "127.0.0.1:9443", strings.HasSuffix(name, "-address"), strings.HasPrefix(value, "/etc/polex/"):
		default:
			flags = append(flags, name, value)
		}
	}
	p := must.Get(Start(context.Background(), Options{Binaries: folder, Dir: i.dir, Config: i.config,
		Kubeconfig: i.kubeconfig, Webhook: i.webhook, Flags: flags}))(t)
	i.process, i.group, i.metrics, i.health = p, p.Group, p.Metrics, p.Health
	fixture.StopAfter(t, i.group)
	i.until(t, "the guard to be ready", i.ready)
}

// check runs polex-guard check with the identity of the guard, and returns its findings.
func (w *staticWorld) check(t *testing.T, flags ...string) (reasons []string, status int) {
	t.Helper()
	return checked(t, append([]string{"--config", w.guard.config, "--kubeconfig", w.guard.kubeconfig, "--namespace",
		"polex-system",
		"--static", w.files}, flags...)...)
}

// identity is a user with all permissions.
type identity struct {
	name  string
	flags []string // of kubectl, with another --kubeconfig or for impersonation
}

// identities returns members of system:masters and accounts with its permissions: by impersonation, by
// TokenRequest, and by a certificate request.
func (w *staticWorld) identities(t *testing.T) []identity {
	t.Helper()
	w.mustKubectl(t, `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: omnipotents}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin},
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: omnipotents}, {kind: ServiceAccount, namespace: kube-system, name: clusterrole-aggregation-controller}]}`, "apply", "-f", "-")
	w.mustKubectl(t, "", "create", "serviceaccount", "-n", "kube-system", "clusterrole-aggregation-controller")
	token := filepath.Join(t.TempDir(), "kubeconfig")
	must.Do(t, w.KubeconfigOf(t.Context(), "kube-system", "clusterrole-aggregation-controller", token))
	all := []identity{
		{name: "admin of system:masters", flags: []string{"--kubeconfig", w.Kubeconfig()}},
		{name: "token of a controller", flags: []string{"--kubeconfig", token}},
		{name: "certificate of system:apiserver", flags: []string{"--kubeconfig", w.certificateFor(t, "system:apiserver", "omnipotents", "system:nodes")}},
	}
	for _, as := range []string{"system:apiserver", "system:kube-aggregator", "system:kube-controller-manager", "polex-guard", "system:node:control-plane",
		"system:serviceaccount:kyverno:kyverno-admission-controller", "system:serviceaccount:kube-system:namespace-controller"} {
		all = append(all, identity{name: "as " + as, flags: []string{"--kubeconfig", w.Kubeconfig(), "--as", as, "--as-group", "system:masters", "--as-group", "system:nodes",
			"--as-group", "system:serviceaccounts:kyverno", "--as-group", "system:serviceaccounts:kube-system"}})
	}
	return all
}

// tries runs kubectl as an identity.
func (w *staticWorld) tries(t *testing.T, who identity, input string, args ...string) error {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), fixture.Kubectl(), append(args, who.flags...)...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	return expect.Unless(err == nil, "%s", string(out))
}

// TestStatic: no user with every permission of the API can switch off a guard whose webhook and
// policies the API server reads from its disk.
func TestStatic(t *testing.T) {
	w := staticCluster(t)
	t.Run("before the guard runs", w.refusesAtOnce)
	w.mustKubectl(t, mustKubectl(t, "", "kustomize", fixture.FromRoot(manifestsFolder+"/overlays/static")), "apply", "--server-side", "-f", "-")
	w.start(t)
	w.mustKubectl(t, "", "create", "namespace", "team-a")
	t.Run("exceptions", w.judges)
	t.Run("attempts", w.holds)
	t.Run("deletecollection", w.sweeps)
	t.Run("mutators", w.mutates)
	t.Run("schema", w.drops)
	t.Run("others go on", w.leavesOthersAlone)
	t.Run("check", w.checks)
	t.Run("restarts", w.restarts)
}

// refusesAtOnce: with an empty etcd and before a guard runs, no exception is admitted.
func (w *staticWorld) refusesAtOnce(t *testing.T) {
	for _, target := range served {
		target.Namespace = "default"
		answer := must.Get(w.Create(t.Context(), target, []byte(draft{name: "early",
			namespace: "default"}.in(target))))(t)
		if answer.OK() || !strings.Contains(answer.Message(), `failed calling webhook "guard.polex.dev"`) {
			t.Errorf("%s/%s: %d %s", target.Group, target.Version, answer.Code, answer.Message())
		}
	}
}

// judges: the guard decides, for every user.
func (w *staticWorld) judges(t *testing.T) {
	for _, target := range served {
		target.Namespace = "team-a"
		d := draft{name: "static-" + target.Version, namespace: "team-a"}
		w.create(t, target, d.in(target)).refusedFor(t, "unsigned")
		w.create(t, target, seal(t, d.in(target))[0]).want(t, http.StatusCreated)
	}
	// The guard has the rights that the overlay gives to the name in its certificate.
	target := cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: "team-a"}
	w.create(t, target, seal(t, draft{name: "short", namespace: "team-a", lives: 5 * time.Second}.legacy("v2"))[0]).want(t, http.StatusCreated)
	w.eventually(t, "the guard to delete what expired", func(ctx context.Context) error {
		answer, err := w.Get(ctx, target.Path("short"))
		if err == nil && answer.Code != http.StatusNotFound {
			err = fmt.Errorf("%d", answer.Code)
		}
		return err
	})
}

func (w *staticWorld) create(t *testing.T, target cluster.Target, text string) response {
	t.Helper()
	return response{must.Get(w.Create(t.Context(), target, []byte(text)))(t)}
}

// A policy, a webhook and a CRD that say nothing about polex.
const (
	anyPolicy = `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: NAME}, spec: {matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}, validations: [{expression: "true"}]}}`
	anyBind   = `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: NAME}, spec: {policyName: other, validationActions: [Deny]}}`
	anyMAPB   = `{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicyBinding, metadata: {name: NAME}, spec: {policyName: other}}`
	anyMAP    = `{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicy, metadata: {name: NAME}, spec: {reinvocationPolicy: Never, matchConstraints: {resourceRules: [{apiGroups: [kyverno.io], apiVersions: ["*"], operations: [CREATE, UPDATE], resources: [policyexceptions]}]}, mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{metadata: Object.metadata{labels: {"a": "b"}}}'}}]}}`
	anyHook   = `{apiVersion: admissionregistration.k8s.io/v1, kind: KINDWebhookConfiguration, metadata: {name: NAME}, webhooks: [{name: a.example.com, clientConfig: {url: "https://127.0.0.1:1/a"}, rules: [{apiGroups: [example.com], apiVersions: ["*"], operations: [CREATE], resources: [things]}], sideEffects: None, admissionReviewVersions: [v1]}]}`
	converts  = `{"spec":{"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"url":"https://127.0.0.1:1/convert"}}}}}`
	renames   = `{"status":{"acceptedNames":{"plural":"things"}}}`
	// Two conditions, of which the API server takes the first.
	twice = `{"status":{"conditions":[{"type":"Established","status":"False","reason":"a","message":"a","lastTransitionTime":"2026-01-01T00:00:00Z"},{"type":"Established","status":"True","reason":"a","message":"a","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`
	takes = `{"spec":{"service":{"namespace":"default","name":"evil"},"insecureSkipTLSVerify":true}}`
)

// staticAttempts are attacks on a guard that the API server reads from its disk.
var staticAttempts = []attempt{
	{name: "shadow the webhook", command: "create", input: strings.NewReplacer("KIND", "Validating", "NAME", "polex-guard").Replace(anyHook), want: "polex-admission"},
	{name: "shadow it by a mutating one", command: "create", input: strings.NewReplacer("KIND", "Mutating", "NAME", "polex-guard").Replace(anyHook), want: "polex-admission"},
	{name: "shadow a policy", command: "create", input: strings.Replace(anyPolicy, "NAME", "polex-guard-cluster", 1), want: "polex-admission"},
	{name: "shadow a binding", command: "create", input: strings.Replace(anyBind, "NAME", "polex-admission", 1), want: "polex-admission"},
	{name: "a mutating policy of polex", command: "create", input: strings.Replace(anyMAP, "NAME", "polex-labels", 1), want: "polex-admission"},
	{name: "a mutating binding of polex", command: "create", input: strings.Replace(anyMAPB, "NAME", "polex-labels", 1), want: "polex-admission"},
	{name: "the reserved suffix", command: "create", input: strings.Replace(anyPolicy, "NAME", "evil.static.k8s.io", 1), want: "reserved"},
	{name: "delete the webhook", command: "delete validatingwebhookconfiguration polex-guard.static.k8s.io", want: "not found"},
	{name: "patch the webhook", command: "patch validatingwebhookconfiguration polex-guard.static.k8s.io", patch: `{"webhooks":[]}`, want: "not found"},
	{name: "unbind", command: "delete validatingadmissionpolicybinding polex-guard-definitions.static.k8s.io", want: "not found"},
	{name: "patch a policy", command: "patch validatingadmissionpolicy polex-admission.static.k8s.io", patch: `{"spec":{"failurePolicy":"Ignore"}}`, want: "not found"},
	{name: "convert exceptions", command: "patch crd policyexceptions.kyverno.io", patch: converts, want: "polex-guard-definitions"},
	{name: "convert exceptions of the other group", command: "patch crd policyexceptions.policies.kyverno.io", patch: converts, want: "polex-guard-definitions"},
	{name: "convert policies", command: "patch crd clusterpolicies.kyverno.io", patch: converts, want: "polex-guard-definitions"},
	{name: "rename exceptions, so that no rule matches them", command: "patch crd policyexceptions.kyverno.io --subresource=status", patch: renames, want: "polex-guard-definitions"},
	{name: "exceptions without a name", command: "patch crd policyexceptions.kyverno.io --subresource=status", patch: `{"status":{"acceptedNames":{"plural":""}}}`, want: "polex-guard-definitions"},
	{name: "rename those of the other group", command: "patch crd policyexceptions.policies.kyverno.io --subresource=status", patch: renames, want: "polex-guard-definitions"},
	{name: "give exceptions another kind", command: "patch crd policyexceptions.kyverno.io --subresource=status", patch: `{"status":{"acceptedNames":{"kind":"Thing"}}}`, want: "polex-guard-definitions"},
	{name: "store policies as exceptions", command: "patch crd clusterpolicies.kyverno.io --subresource=status", patch: `{"status":{"acceptedNames":{"plural":"policyexceptions"}}}`, want: "polex-guard-definitions"},
	{name: "another definition of the kind", command: "create", input: `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: things.kyverno.io}, spec: {group: kyverno.io, scope: Namespaced, names: {plural: things, kind: PolicyException}, versions: [{name: v2, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}`, want: "polex-guard-definitions"},
	{name: "serve no version", command: "patch crd policyexceptions.kyverno.io", patch: `{"spec":{"versions":[{"name":"v2","served":false,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`, want: "polex-guard-definitions"},
	{name: "stop serving what Kyverno reads", command: unserve("policyexceptions.kyverno.io", 0, "v2"), want: "polex-guard-definitions"},
	{name: "stop serving another version", command: unserve("policyexceptions.kyverno.io", 1, "v2beta1"), want: "polex-guard-definitions"},
	{name: "stop serving what Kyverno reads of the other group", command: unserve("policyexceptions.policies.kyverno.io", 2, "v1beta1"), want: "polex-guard-definitions"},
	{name: "a version goes", command: "patch crd policyexceptions.kyverno.io --type=json --patch " + `[{"op":"test","path":"/spec/versions/1/name","value":"v2beta1"},{"op":"remove","path":"/spec/versions/1"}]`, want: "polex-guard-definitions"},
	{name: "a version gets another name", command: "patch crd policyexceptions.kyverno.io --type=json --patch " + `[{"op":"test","path":"/spec/versions/1/name","value":"v2beta1"},{"op":"replace","path":"/spec/versions/1/name","value":"v3"}]`, want: "polex-guard-definitions"},
	{name: "store exceptions in a version that can go", command: "patch crd policyexceptions.kyverno.io --type=json --patch " + `[{"op":"test","path":"/spec/versions/0/storage","value":true},{"op":"replace","path":"/spec/versions/0/storage","value":false},{"op":"add","path":"/spec/versions/-","value":{"name":"v9","served":false,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}}]`, want: "polex-guard-definitions"},
	{name: "lists that Kyverno cannot decode", command: "patch crd policyexceptions.kyverno.io", patch: `{"spec":{"names":{"listKind":"Things"}}}`, want: "polex-guard-definitions"},
	{name: "such lists by the status", command: "patch crd policyexceptions.policies.kyverno.io --subresource=status", patch: `{"status":{"acceptedNames":{"listKind":"Things"}}}`, want: "polex-guard-definitions"},
	{name: "lists without a kind", command: "patch crd policyexceptions.kyverno.io --subresource=status", patch: `{"status":{"acceptedNames":{"listKind":""}}}`, want: "polex-guard-definitions"},
	{name: "exceptions without a singular", command: "patch crd policyexceptions.kyverno.io --subresource=status", patch: `{"status":{"acceptedNames":{"singular":null}}}`, want: "polex-guard-definitions"},
	{name: "a definition that is established twice", command: "patch crd policyexceptions.kyverno.io --subresource=status", patch: twice, want: "polex-guard-definitions"},
	{name: "a definition that is established twice, truly", command: "patch crd policyexceptions.policies.kyverno.io --subresource=status", patch: strings.ReplaceAll(twice, "False", "True"), want: "polex-guard-definitions"},
	{name: "a definition that is not established, whose scope can change", command: "patch crd policyexceptions.kyverno.io --subresource=status", patch: `{"status":{"conditions":[]}}`, want: "polex-guard-definitions"},
	{name: "delete the definition", command: "delete crd policyexceptions.kyverno.io", want: "polex-guard-definitions"},
	{name: "delete the definition of the other group", command: "delete crd policyexceptions.policies.kyverno.io", want: "polex-guard-definitions"},
	{name: "take over a version", command: "patch apiservice v2.kyverno.io", patch: takes, want: "polex-guard-definitions"},
	{name: "take over a new version", command: "create", input: `{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v9.kyverno.io}, spec: {group: kyverno.io, version: v9, groupPriorityMinimum: 1, versionPriority: 1, insecureSkipTLSVerify: true, service: {namespace: default, name: evil}}}`, want: "polex-guard-definitions"},
	{name: "take over admission", command: "patch apiservice v1.admissionregistration.k8s.io", patch: takes, want: "polex-guard-definitions"},
	{name: "take over the list of API servers", command: "patch apiservice v1.discovery.k8s.io", patch: takes, want: "polex-guard-definitions"},
	{name: "take over the check of permissions", command: "patch apiservice v1.authorization.k8s.io", patch: takes, want: "polex-guard-definitions"},
	{name: "take over the core group", command: "patch apiservice v1.", patch: takes, want: "polex-guard-definitions"},
	{name: "no rights", command: "patch clusterrole polex-guard", patch: `{"rules":[]}`, want: "polex-guard-cluster"},
	{name: "delete its rights", command: "delete clusterrole polex-guard", want: "polex-guard-cluster"},
	{name: "bind its rights to nobody", command: "patch clusterrolebinding polex-guard", patch: `{"subjects":[]}`, want: "polex-guard-cluster"},
	{name: "delete the binding of its rights", command: "delete clusterrolebinding polex-guard", want: "polex-guard-cluster"},
	{name: "no right to lead", command: "patch role polex-guard -n polex-system", patch: `{"rules":[]}`, want: "polex-guard-namespace"},
	{name: "nobody has the right to lead", command: "delete rolebinding polex-guard -n polex-system", want: "polex-guard-namespace"},
	{name: "delete the namespace", command: "delete namespace polex-system", want: "polex-guard-namespace"},
	{name: "a ConfigMap of the guard", command: "create configmap polex-guard -n polex-system --from-literal=config.yaml=a", want: "polex-guard-namespace"},
	{name: "a Secret of the guard", command: "create secret generic polex-guard-tls -n polex-system", want: "polex-guard-namespace"},
	{name: "a Deployment of the guard", command: "create deployment polex-guard -n polex-system --image=a", want: "polex-guard-namespace"},
	{name: "exec into etcd", command: "get --raw /api/v1/namespaces/kube-system/pods/etcd/exec?command=etcdctl", want: "polex-exec"},
	{name: "the proxy to a node", command: "get --raw /api/v1/nodes/control-plane/proxy/pods", want: "polex-exec"},
	{name: "scale the guard", command: "scale deployment polex-guard -n polex-system --replicas=0", want: "not found"},
}

// unserve returns a command that stops serving a version of a definition.
func unserve(definition string, index int, version string) string {
	return fmt.Sprintf(`patch crd %s --type=json --patch [{"op":"test","path":"/spec/versions/%[2]d/name","value":%[3]q},{"op":"replace","path":"/spec/versions/%[2]d/served","value":false}]`, definition, index, version)
}

// holds: each attempt is refused, for every identity.
func (w *staticWorld) holds(t *testing.T) {
	identities := w.identities(t)
	for _, tc := range staticAttempts {
		t.Run(tc.name, func(t *testing.T) {
			for _, who := range identities {
				err := w.tries(t, who, tc.input, tc.args()...)
				expect.That(t, err != nil && strings.Contains(err.Error(), tc.want), "%s: %v", who.name, err)
			}
		})
	}
	unsigned := draft{name: "attempt", namespace: "team-a"}
	for _, who := range identities {
		for _, text := range []string{unsigned.legacy("v2"), unsigned.policies("v1")} {
			err := w.tries(t, who, text, "create", "-f", "-")
			expect.That(t, err != nil && strings.Contains(err.Error(), "[unsigned]"), "%s: %v", who.name, err)
		}
	}
}

// sweeps: deleting all objects of the API leaves the static ones.
func (w *staticWorld) sweeps(t *testing.T) {
	for _, kind := range []string{"validatingadmissionpolicybindings", "validatingadmissionpolicies", "validatingwebhookconfigurations", "mutatingwebhookconfigurations"} {
		w.mustKubectl(t, "", "delete", kind, "--all")
	}
	if err := w.kubectl(t, "", "delete", "clusterroles", "--all", "--dry-run=server"); err == nil || !strings.Contains(err.Error(), "polex-guard-cluster.static.k8s.io") {
		t.Errorf("all ClusterRoles: %v", err)
	}
	w.create(t, cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: "team-a"}, draft{name: "swept", namespace: "team-a"}.legacy("v2")).refusedFor(t, "unsigned")
}

// mutates: an object that changes exceptions on their way only invalidates them, and check names it.
func (w *staticWorld) mutates(t *testing.T) {
	target := cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: "team-a"}
	w.mustKubectl(t, strings.Replace(anyMAP, "NAME", "labels", 1), "create", "-f", "-")
	w.mustKubectl(t, strings.NewReplacer("NAME", "labels", "policyName: other", "policyName: labels").Replace(anyMAPB), "create", "-f", "-")
	signed := seal(t, draft{name: "mutated", namespace: "team-a"}.legacy("v2"))[0]
	w.eventually(t, "the policy to change exceptions", func(ctx context.Context) error {
		return refuses("altered")(w.DryRun(ctx, target, []byte(signed)))
	})
	w.create(t, target, draft{name: "mutated", namespace: "team-a"}.legacy("v2")).refusedFor(t, "unsigned")
	got, status := w.check(t, "--server", w.Server())
	expect.That(t, status == 0 && slices.Contains(got, "mutates"), "%d %q", status, got)
	w.mustKubectl(t, "", "delete", "mutatingadmissionpolicybinding,mutatingadmissionpolicy", "labels")
	w.eventually(t, "the policy to be gone", func(ctx context.Context) error {
		return cluster.OK(w.DryRun(ctx, target, []byte(signed)))
	})
}

// drops: a schema without a field drops it from stored exceptions. The guard reports them.
func (w *staticWorld) drops(t *testing.T) {
	const crd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/policyexceptions.policies.kyverno.io"
	var paths, back []map[string]any
	var definition struct {
		Spec struct {
			Versions []struct {
				Schema struct{ OpenAPIV3Schema map[string]any }
			}
		}
	}
	must.Do(t, json.Unmarshal(w.do(t, cluster.Request{Method: http.MethodGet, Path: crd}).Body, &definition))
	for n, v := range definition.Spec.Versions {
		fields := v.Schema.OpenAPIV3Schema["properties"].(map[string]any)["spec"].(map[string]any)["properties"].(map[string]any)
		at := fmt.Sprintf("/spec/versions/%d/schema/openAPIV3Schema/properties/spec/properties/matchConditions", n)
		paths = append(paths, map[string]any{"op": "remove", "path": at})
		back = append(back, map[string]any{"op": "add", "path": at, "value": fields["matchConditions"]})
	}
	patch := func(operations []map[string]any) {
		t.Helper()
		body := must.Get(json.Marshal(operations))(t)
		w.do(t, cluster.Request{Method: http.MethodPatch, Path: crd, ContentType: "application/json-patch+json", Body: body}).want(t, http.StatusOK)
	}
	patch(paths)
	w.guard.until(t, "the guard to report the wider exceptions",
		w.guard.measures(`polex_guard_exceptions{kind="PolicyException.policies.kyverno.io",reason="altered"} 3`))
	patch(back)
	w.guard.until(t, "the exceptions to be as signed",
		w.guard.measures(`polex_guard_exceptions{kind="PolicyException.policies.kyverno.io",reason="verified"} 3`))
}

// leavesOthersAlone: Kubernetes, Kyverno's upgrades and other people's objects go on.
func (w *staticWorld) leavesOthersAlone(t *testing.T) {
	t.Run("controllers of Kubernetes", func(t *testing.T) {
		for _, namespace := range []string{"team-a", "polex-system"} {
			for _, path := range []string{"/serviceaccounts/default", "/configmaps/kube-root-ca.crt"} {
				w.eventually(t, namespace+path, func(ctx context.Context) error {
					return cluster.OK(w.Get(ctx, "/api/v1/namespaces/"+namespace+path))
				})
			}
		}
	})
	t.Run("a new version of exceptions", func(t *testing.T) {
		answer := w.do(t, cluster.Request{Method: http.MethodGet, Path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/policyexceptions.kyverno.io"})
		var crd struct {
			Spec struct{ Versions []map[string]any }
		}
		must.Do(t, json.Unmarshal(answer.Body, &crd))
		version := crd.Spec.Versions[0]
		version["name"], version["storage"] = "v3", false
		patch := must.Get(json.Marshal(
			[]map[string]any{{"op": "add", "path": "/spec/versions/-", "value": version}}))(t)
		w.mustKubectl(t, "", "patch", "crd", "policyexceptions.kyverno.io", "--type=json", "--patch", string(patch))
		target := cluster.Target{Group: "kyverno.io", Version: "v3", Namespace: "team-a"}
		w.eventually(t, "the new version", func(ctx context.Context) error {
			return refuses("unsigned")(w.Create(ctx, target, []byte(draft{name: "next",
				namespace: "team-a"}.legacy("v3"))))
		})
		// It stays.
		err := w.kubectl(t, "", "patch", "crd", "policyexceptions.kyverno.io", "--type=json", "--patch", fmt.Sprintf(`[{"op":"remove","path":"/spec/versions/%d"}]`, len(crd.Spec.Versions)))
		expect.That(t, err != nil && strings.Contains(err.Error(), "polex-guard-definitions"),
			"the new version goes: %v", err)
	})
	for _, tc := range []struct{ name, input, command string }{
		{name: "Kyverno's definitions", command: "annotate crd policyexceptions.kyverno.io clusterpolicies.kyverno.io a=b --overwrite"},
		{name: "another stored version", command: `patch crd policyexceptions.kyverno.io --subresource=status --type=merge --patch {"status":{"storedVersions":["v2","v2beta1"]}}`},
		{name: "Kyverno's migration to another version", command: `patch crd policyexceptions.kyverno.io --subresource=status --type=merge --patch {"status":{"storedVersions":["v2"]}}`},
		{name: "a definition of Kyverno that goes", command: "delete crd cleanuppolicies.kyverno.io"},
		{name: "Kyverno's webhook", command: "create -f -", input: strings.NewReplacer("KIND", "Validating", "NAME", "kyverno-resource-validating-webhook-cfg").Replace(anyHook)},
		{name: "Kyverno's ConfigMap", command: "label configmap kyverno -n kyverno a=b"},
		{name: "a definition", command: "create -f -", input: `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: things.example.com}, spec: {group: example.com, scope: Namespaced, names: {plural: things, kind: Thing}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}`},
		{name: "its conversion", command: "patch crd things.example.com --type=merge --patch " + strings.ReplaceAll(converts, `"url":"https://127.0.0.1:1/convert"`, `"service":{"namespace":"a","name":"b"}`)},
		{name: "it goes", command: "delete crd things.example.com"},
		{name: "an APIService", command: "create -f -", input: `{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1beta1.metrics.k8s.io}, spec: {group: metrics.k8s.io, version: v1beta1, groupPriorityMinimum: 100, versionPriority: 100, insecureSkipTLSVerify: true, service: {namespace: kube-system, name: metrics-server}}}`},
		{name: "it goes too", command: "delete apiservice v1beta1.metrics.k8s.io"},
		{name: "a policy", command: "create -f -", input: strings.Replace(anyPolicy, "NAME", "other", 1)},
		{name: "a role", command: "create clusterrole other --verb=get --resource=pods"},
		{name: "the guard's rights, again", command: "annotate clusterrole,clusterrolebinding polex-guard a=b --overwrite"},
		{name: "more rights of the guard", command: `patch clusterrole polex-guard --type=json --patch [{"op":"add","path":"/rules/-","value":{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}}]`},
		{name: "an exception goes", command: "delete policyexceptions.v2.kyverno.io static-v2 -n team-a"},
	} {
		t.Run(tc.name, func(t *testing.T) { w.mustKubectl(t, tc.input, strings.Fields(tc.command)...) })
	}
	t.Run("deletions without a guard", func(t *testing.T) {
		w.guard.group.Stop()
		w.mustKubectl(t, "", "delete", "policyexceptions.v1.policies.kyverno.io", "static-v1", "-n", "team-a")
		w.mustKubectl(t, "", "delete", "namespace", "team-a", "--timeout=60s")
		w.mustKubectl(t, "", "create", "namespace", "team-a")
		w.guard.again(t)
	})
}

// another starts a second API server on the same etcd, with one more policy. It returns the folder of
// its static files and its address.
func (w *staticWorld) another(t *testing.T) (files, address string) {
	t.Helper()
	dir := t.TempDir()
	files = filepath.Join(dir, "polex")
	must.Do(t, os.CopyFS(files, os.DirFS(w.loaded)))
	config := must.Get(os.ReadFile(filepath.Join(files, "admission.yaml")))(t)
	for name, text := range map[string][]byte{
		"admission.yaml":     bytes.ReplaceAll(config, []byte(w.loaded), []byte(files)),
		"policies/more.yaml": []byte("apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: more.static.k8s.io}\nspec:\n  matchConstraints: {resourceRules: [{apiGroups: [a], apiVersions: [v1], operations: [CREATE], resources: [b]}]}\n  validations: [{expression: 'true'}]\n"),
	} {
		must.Do(t, os.WriteFile(filepath.Join(files, name), text, 0o600))
	}
	port := must.Get(servers.FreePorts(1))(t)
	first := must.Get(os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", w.PID(cluster.APIServer))))(t)
	var args []string
	for _, arg := range strings.Split(strings.TrimRight(string(first), "\x00"), "\x00")[1:] {
		switch name, _, _ := strings.Cut(arg, "="); name {
		case "--secure-port":
			arg = fmt.Sprintf("--secure-port=%d", port[0])
		case "--admission-control-config-file":
			arg = "--admission-control-config-file=" + filepath.Join(files, "admission.yaml")
		case "--audit-log-path":
			arg = "--audit-log-path=" + filepath.Join(dir, "audit.log")
		}
		args = append(args, arg)
	}
	group := &servers.Group{Dir: dir}
	must.Do(t, group.Run(context.Background(), servers.Command{Program: servers.Kubernetes(fixture.FromRoot(binaries),
		cluster.APIServer), Args: args}))
	t.Cleanup(group.Stop)
	return files, fmt.Sprintf("https://127.0.0.1:%d", port[0])
}

// checks: polex-guard check compares the files with those that the API server has loaded.
func (w *staticWorld) checks(t *testing.T) {
	rest := []string{"exceptions-disabled"} // Kyverno does not run
	finds := func(want []string, wantStatus int, flags ...string) {
		t.Helper()
		w.eventually(t, fmt.Sprintf("the findings %q", want), func(context.Context) error {
			got, status := w.check(t, flags...)
			return expect.Unless(status == wantStatus && slices.Equal(got, want), "exit status %d, %q", status, got)
		})
	}
	server := []string{"--server", w.Server()}
	finds(rest, 0, server...)
	w.eventually(t, "check to find the Lease of somebody else", func(context.Context) error { // everybody may write it
		w.mustKubectl(t, "", "patch", "lease", "polex-guard", "-n", "polex-system", "--type=merge", "-p", `{"spec":{"holderIdentity":"somebody"}}`)
		got, status := w.check(t, server...)
		return expect.Unless(status == 1 && slices.Contains(got, "no-leader"), "exit status %d, %q", status, got)
	})
	finds(rest, 0, server...)
	finds([]string{"exceptions-disabled", "undecided"}, 3) // no endpoints: this API server writes none
	// A second API server has another file, and then the same ones.
	other, second := w.another(t)
	both := append(slices.Clone(server), "--server", second)
	finds([]string{"exceptions-disabled", "static-not-loaded"}, 1, both...)
	must.Do(t, os.Remove(filepath.Join(other, "policies/more.yaml")))
	finds(rest, 0, both...)
	// The endpoints of the Service name an API server that does not answer. An endpoint cannot be on loopback.
	w.mustKubectl(t, `{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: kubernetes, namespace: default, labels: {kubernetes.io/service-name: kubernetes}}, addressType: IPv4, endpoints: [{addresses: [10.9.8.7]}], ports: [{name: https, port: 1, protocol: TCP}]}`, "create", "-f", "-")
	finds([]string{"exceptions-disabled", "undecided"}, 3)
	policies := filepath.Join(w.loaded, "policies/polex.yaml")
	text := must.Get(os.ReadFile(policies))(t)
	// Break-glass: the files are changed on the disk of the control plane.
	must.Do(t, os.Remove(policies))
	finds([]string{"exceptions-disabled", "static-not-loaded"}, 1, server...)
	w.mustKubectl(t, strings.Replace(anyBind, "NAME", "polex-x", 1), "create", "-f", "-")
	w.mustKubectl(t, "", "delete", "validatingadmissionpolicybinding", "polex-x")
	must.Do(t, os.WriteFile(policies, text, 0o600))
	finds(rest, 0, server...)
	// An exception that gets in while the webhook is away is reported by the guard.
	hook := filepath.Join(w.loaded, "webhooks/polex.yaml")
	text = must.Get(os.ReadFile(hook))(t)
	must.Do(t, os.Remove(hook))
	finds([]string{"exceptions-disabled", "static-not-loaded"}, 1, server...)
	target := cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: "team-a"}
	w.create(t, target, draft{name: "forced", namespace: "team-a"}.legacy("v2")).want(t, http.StatusCreated)
	w.guard.until(t, "the guard to report it",
		w.guard.measures(`polex_guard_exceptions{kind="PolicyException.kyverno.io",reason="unsigned"} 1`))
	must.Do(t, os.WriteFile(hook, text, 0o600))
	finds(rest, 0, server...)
	w.do(t, cluster.Request{Method: http.MethodDelete, Path: target.Path("forced")}).want(t, http.StatusOK)
	// A folder that cannot be loaded: the API server keeps the loaded files.
	bad := filepath.Join(w.loaded, "policies/bad.yaml")
	must.Do(t, os.WriteFile(bad, []byte("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n"), 0o600))
	finds([]string{"exceptions-disabled", "static-reload-failed"}, 0, server...)
	must.Do(t, os.Remove(bad))
}

// restarts: while the API server and the guard restart again and again, no unsigned exception is admitted.
func (w *staticWorld) restarts(t *testing.T) {
	target := cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: "team-a"}
	ctx, cancel := context.WithCancel(t.Context())
	var creating sync.WaitGroup
	var asked, reached atomic.Int64
	for n := range 4 {
		creating.Go(func() {
			for attempt := 0; ctx.Err() == nil; attempt++ {
				asked.Add(1)
				name := fmt.Sprintf("restart-%d-%d", n, attempt)
				answer, err := w.Create(ctx, target, []byte(draft{name: name, namespace: "team-a"}.legacy("v2")))
				if err != nil {
					continue
				}
				reached.Add(1)
				expect.That(t, !answer.OK(), "%s was admitted", name)
			}
		})
	}
	for range 3 {
		w.guard.group.Stop()
		bounded, done := context.WithTimeout(t.Context(), waitLimit)
		expect.NoError(t, w.RestartAPIServer(bounded))
		done()
		w.guard.again(t)
	}
	cancel()
	creating.Wait()
	expect.That(t, reached.Load() != 0, "no request reached the API server")
	t.Logf("%d requests, %d with an answer", asked.Load(), reached.Load())
	w.create(t, target, seal(t, draft{name: "after", namespace: "team-a"}.legacy("v2"))[0]).want(t, http.StatusCreated)
	got, status := w.check(t, "--server", w.Server())
	expect.That(t, status == 0 && !slices.Contains(got, "no-webhook"), "%d %q", status, got)
}

//go:build e2e

package guard

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/internal/guard/doctor"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/modcache"
	"github.com/polex-dev/polex/test/must"
)

// Names in the manifests.
const (
	manifestsFolder = "policies/guard"
	guardNamespace  = "polex-system"
	account         = "system:serviceaccount:polex-system:polex-guard"
)

// kubectl runs kubectl as the administrator, and returns its output.
func kubectl(t *testing.T, input string, args ...string) (string, error) {
	t.Helper()
	return kubectlOf(t, live.Kubeconfig(), input, args...)
}

// kubectlOf runs kubectl with a kubeconfig.
func kubectlOf(t *testing.T, kubeconfig, input string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), fixture.Kubectl(), append(args, "--kubeconfig", kubeconfig)...)
	cmd.Stdin = strings.NewReader(input)
	return run(cmd)
}

// run runs a command, and returns its output. Its error output is in the error.
func run(cmd *exec.Cmd) (string, error) {
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = errors.Join(err, errors.New(stderr.String()))
	}
	return string(out), err
}

// kubectlAfterwards runs kubectl in the cleanup of a test.
func kubectlAfterwards(t *testing.T, args ...string) {
	t.Helper()
	out, err := exec.Command(fixture.Kubectl(), append(args, "--kubeconfig", live.Kubeconfig())...).CombinedOutput()
	expect.That(t, err == nil, "kubectl %s: %v: %s", strings.Join(args, " "), err, out)
}

// mustKubectl is kubectl that must succeed.
func mustKubectl(t *testing.T, input string, args ...string) string {
	t.Helper()
	out, err := kubectl(t, input, args...)
	must.That(t, err == nil, "kubectl %s: %v", strings.Join(args, " "), err)
	return out
}

// apply applies manifests as on the page, and rejects unknown fields.
func apply(t *testing.T, manifests string) {
	t.Helper()
	mustKubectl(t, manifests, "apply", "--server-side", "--force-conflicts", "--validate=strict", "-f", "-")
}

// built returns the manifests of a folder of this repository.
func built(t *testing.T, dir string) string {
	t.Helper()
	return mustKubectl(t, "", "kustomize", fixture.FromRoot(filepath.Join(manifestsFolder, dir)))
}

// objectsOf returns the objects of manifests.
func objectsOf(t *testing.T, manifests string) []*unstructured.Unstructured {
	t.Helper()
	documents := must.Get(cluster.Documents([]byte(manifests)))(t)
	var objects []*unstructured.Unstructured
	for _, document := range documents {
		o := &unstructured.Unstructured{}
		must.Do(t, yaml.UnmarshalStrict(document, &o.Object))
		objects = append(objects, o)
	}
	return objects
}

// edited returns the objects for which keep returns true; keep may change them.
func edited(t *testing.T, manifests string, keep func(*unstructured.Unstructured) bool) string {
	t.Helper()
	var kept []string
	for _, o := range objectsOf(t, manifests) {
		if !keep(o) {
			continue
		}
		kept = append(kept, string(must.Get(yaml.Marshal(o.Object))(t)))
	}
	return strings.Join(kept, "---\n")
}

// only decodes the only object of a kind and name in manifests, strictly.
func only(t *testing.T, manifests, kind, name string, into any) {
	t.Helper()
	found := 0
	for _, o := range objectsOf(t, manifests) {
		if o.GetKind() != kind || o.GetName() != name {
			continue
		}
		found++
		must.Do(t, runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, into, true))
	}
	must.That(t, found == 1, "there are %d of %s %s", found, kind, name)
}

func deployment(t *testing.T, manifests string) *appsv1.Deployment {
	t.Helper()
	var d appsv1.Deployment
	only(t, manifests, "Deployment", "polex-guard", &d)
	return &d
}

// installation is a user's kustomization of an overlay.
type installation struct {
	overlay string
	args    []string // more arguments
}

// installPage shows how to install the guard.
const installPage = "docs/how-to/install-guard.md"

// build builds the kustomization of the page with the user's values, without the patch for audits.
func (i installation) build(t *testing.T) string {
	t.Helper()
	page := must.Get(os.ReadFile(fixture.FromRoot(installPage)))(t)
	block := regexp.MustCompile("(?s) *```yaml\n( *# kustomization.yaml\n.*?) *# Audit: .*? *```").FindSubmatch(page)
	must.That(t, block != nil, "the page has no kustomization.yaml with a patch for audits")
	dir := t.TempDir()
	relative := func(folder string) string {
		return must.Get(filepath.Rel(dir, fixture.FromRoot(manifestsFolder+"/"+folder)))(t)
	}
	text := regexp.MustCompile("(?m)^   ").ReplaceAllString(string(block[1]), "")
	const address = "https://github.com/polex-dev/polex//policies/guard/overlays/cert-manager?ref=<commit>"
	for from, to := range map[string]string{address: relative("overlays/" + i.overlay), "<digest>": strings.Repeat("0", 64), "--cluster-name=<name>": "--cluster-name=e2e"} {
		must.That(t, strings.Contains(text, from), "the kustomization of the page does not hold %s", from)
		text = strings.ReplaceAll(text, from, to)
	}
	for _, arg := range i.args {
		text += "  - target: {kind: Deployment, name: polex-guard}\n    patch: |\n      - {op: add, path: /spec/template/spec/containers/0/args/-, value: " + arg + "}\n"
	}
	root := must.Get(os.ReadFile(box.TrustedRootPath))(t)
	config := must.Get(os.ReadFile(box.ConfigPath))(t)
	for name, text := range map[string]string{"kustomization.yaml": text, "config.yaml": string(config), "trusted_root.json": string(root)} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return mustKubectl(t, "", "kustomize", dir)
}

// definedCertificates installs cert-manager's definitions.
func definedCertificates(t *testing.T) {
	t.Helper()
	dir := filepath.Join(modcache.Dir(t, modcache.CertManager), "deploy", "crds")
	mustKubectl(t, "", "apply", "--server-side", "-f", dir)
	mustKubectl(t, "", "wait", "--for=condition=Established", "--timeout=60s", "-f", dir)
}

// role is a role of the guard in the manifests.
type role struct {
	kind, namespace, name string
	rules                 []rbacv1.PolicyRule
}

// right is a single permission of a role.
type right struct{ verb, group, resource, namespace, name string }

func (r right) String() string {
	return strings.Join(strings.Fields(strings.Join([]string{r.verb, r.resource + "." + r.group, r.namespace, r.name}, " ")), " ")
}

// permits reports whether the right permits a request.
func (r right) permits(asked right) bool {
	return r.verb == asked.verb && r.group == asked.group && r.resource == asked.resource &&
		(r.namespace == "" || r.namespace == asked.namespace) && (r.name == "" || r.name == asked.name)
}

func (d delivered) roles(t *testing.T) []role {
	t.Helper()
	var roles []role
	for _, o := range objectsOf(t, d.manifests) {
		if kind := o.GetKind(); kind != "Role" && kind != "ClusterRole" {
			continue
		}
		var object rbacv1.ClusterRole // a Role has the same fields
		must.Do(t, runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, &object, true))
		if len(object.Rules) == 0 {
			t.Fatalf("%s %s has no rules", o.GetKind(), o.GetName())
		}
		roles = append(roles, role{o.GetKind(), o.GetNamespace(), o.GetName(), object.Rules})
	}
	must.That(t, len(roles) >= 3, "there are %d roles", len(roles))
	return roles
}

// singly returns the role's rules with one verb on one resource each.
func (r role) singly() []rbacv1.PolicyRule {
	var single []rbacv1.PolicyRule
	for _, rule := range r.rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					single = append(single, rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, ResourceNames: rule.ResourceNames, Verbs: []string{verb}})
				}
			}
		}
	}
	return single
}

// right returns the permission of one of the role's single rules.
func (r role) right(single rbacv1.PolicyRule) right {
	return right{single.Verbs[0], single.APIGroups[0], single.Resources[0], r.namespace, strings.Join(single.ResourceNames, ",")}
}

// audited returns the requests of the guard's account from the API server's audit log, with its decisions.
func audited(t *testing.T) []askedFor {
	t.Helper()
	raw := must.Get(os.ReadFile(live.AuditLog()))(t)
	var all []askedFor
	lines := bufio.NewScanner(bytes.NewReader(raw))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event struct {
			Verb        string
			ObjectRef   *struct{ APIGroup, Resource, Subresource, Namespace, Name string }
			User        struct{ Username string }
			Annotations map[string]string
		}
		must.Do(t, json.Unmarshal(lines.Bytes(), &event))
		if event.User.Username != account || event.ObjectRef == nil {
			continue
		}
		o := event.ObjectRef
		all = append(all, askedFor{
			right:    right{event.Verb, o.APIGroup, strings.TrimSuffix(o.Resource+"/"+o.Subresource, "/"), o.Namespace, o.Name},
			decision: event.Annotations["authorization.k8s.io/decision"],
		})
	}
	must.Do(t, lines.Err())
	return all
}

type askedFor struct {
	right
	decision string
}

// usesItsRights: no request of the guard was forbidden, and each permission of its roles was used.
func (d delivered) usesItsRights(t *testing.T, before int) {
	t.Helper()
	asked := audited(t)[before:]
	for _, a := range asked {
		expect.That(t, a.decision == "allow", "it asked for %s, which it may not", a)
	}
	for _, r := range d.roles(t) {
		for _, single := range r.singly() {
			held := r.right(single)
			expect.That(t, slices.ContainsFunc(asked, func(a askedFor) bool { return held.permits(a.right) }),
				"%s %s permits what was not needed: %s", r.kind, r.name, held)
		}
	}
	t.Logf("%d requests were permitted", len(asked))
}

// needsItsRights: polex-guard check reports each missing permission.
func (d delivered) needsItsRights(t *testing.T) {
	t.Helper()
	taken := 0
	for _, r := range d.roles(t) {
		single := r.singly()
		for n := range single {
			d.write(t, r, slices.Delete(slices.Clone(single), n, n+1))
			until(t, "check to miss "+r.right(single[n]).String(), func(ctx context.Context) error {
				if wrong := d.diagnosed(ctx, t); len(wrong) == 0 {
					return errors.New("all is well")
				}
				return ctx.Err() // a check without an answer in time has no result
			})
			d.write(t, r, r.rules)
			d.isFine(t)
			taken++
		}
	}
	t.Logf("%d rights were taken away, one by one", taken)
}

// write replaces a role.
func (d delivered) write(t *testing.T, r role, rules []rbacv1.PolicyRule) {
	t.Helper()
	text := must.Get(json.Marshal(map[string]any{"apiVersion": rbacv1.SchemeGroupVersion.String(), "kind": r.kind,
		"metadata": map[string]any{"name": r.name, "namespace": r.namespace}, "rules": rules}))(t)
	mustKubectl(t, string(text), "replace", "-f", "-")
}

// isFine waits until polex-guard check finds no problem.
func (d delivered) isFine(t *testing.T) {
	t.Helper()
	until(t, "check to find nothing", func(ctx context.Context) error {
		wrong := d.diagnosed(ctx, t)
		return expect.Unless(len(wrong) == 0, "%q", wrong)
	})
}

// diagnosed returns the problems that polex-guard check finds as the guard's account. Only a
// cluster resolves the webhook's name, so the test redirects it to the process.
func (i delivered) diagnosed(ctx context.Context, t *testing.T) (wrong []string) {
	t.Helper()
	config := must.Get(clientcmd.BuildConfigFromFlags("", i.kubeconfig))(t)
	config.QPS = 1000
	config.Burst = 1000
	http := must.Get(rest.HTTPClientFor(config))(t)
	asAccount := must.Get(client.New(config, client.Options{HTTPClient: http}))(t)
	checked := doctor.Config{
		Client: asAccount, HTTP: http, Host: config.Host, Now: time.Now,
		Kinds:   []exception.GroupKind{{Group: exception.KyvernoGroup, Kind: "PolicyException"}, {Group: exception.PoliciesGroup, Kind: "PolicyException"}},
		Webhook: "polex-guard", Deadline: 5 * time.Second, Protect: os.DirFS("../../../policies/guard/protect"), Namespace: guardNamespace, Kyverno: "kyverno",
		Dial: func(ctx context.Context, address string, c *tls.Config) (*tls.Conn, error) {
			if name, _, _ := net.SplitHostPort(address); name != "polex-guard."+guardNamespace+".svc" {
				return nil, fmt.Errorf("the API server asks %s", address)
			}
			conn, err := (&tls.Dialer{Config: c}).DialContext(ctx, "tcp", i.webhook)
			if err != nil {
				return nil, err
			}
			return conn.(*tls.Conn), nil
		},
	}
	if i.overlay == "self-managed" {
		checked.SelfManaged = "polex-guard-tls"
	}
	for _, f := range doctor.Run(ctx, checked) {
		if f.Outcome != doctor.Fine {
			wrong = append(wrong, f.Reason+": "+f.Message)
		}
	}
	return wrong
}

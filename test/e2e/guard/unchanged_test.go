//go:build e2e

package guard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/fixture"
)

// Kyverno's definitions of exceptions.
const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"

// TestUnchanged: an object that is written back unchanged, in any version, is stored, even an
// unsigned one. The re-check still reports that one. A change is verified.
func TestUnchanged(t *testing.T) {
	ns := namespace(t)
	unsigned := cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: ns}
	create(t, unsigned, draft{name: "unsigned", namespace: ns}.legacy("v2")).want(t, http.StatusCreated)
	i := settings{}.run(t)
	i.register(t)
	for n, in := range served {
		in.Namespace = ns
		name := fmt.Sprintf("signed-%d", n)
		create(t, in, seal(t, draft{name: name, namespace: ns}.in(in))[0]).want(t, http.StatusCreated)
		for _, shown := range served {
			if shown.Group == in.Group {
				shown.Namespace = ns
				putBack(t, shown, name, strings.NewReplacer()).want(t, http.StatusOK)
				putBack(t, shown, name, strings.NewReplacer("require-probes", "require-limits")).refusedFor(t, "altered")
			}
		}
	}
	putBack(t, unsigned, "unsigned", strings.NewReplacer()).want(t, http.StatusOK)
	i.until(t, "the re-check to find it", func(ctx context.Context) error {
		return contains(ctx, fmt.Sprintf(reports, ns), `"rule":"unsigned"`)
	})
}

// putBack reads an object in a version, and writes it back with replacements.
func putBack(t *testing.T, target cluster.Target, name string, replace *strings.Replacer) response {
	t.Helper()
	there := do(t, cluster.Request{Method: http.MethodGet, Path: target.Path(name)})
	there.want(t, http.StatusOK)
	return do(t, cluster.Request{Method: http.MethodPut, Path: target.Path(name), ContentType: "application/json", Body: []byte(replace.Replace(string(there.Body)))})
}

const noWriter = "is not among those who may write exceptions"

// TestMigration: after an upgrade, Kyverno moves exceptions to the storage version of their
// definition. That succeeds, also for an account that is not a writer.
func TestMigration(t *testing.T) {
	i := settings{}.run(t)
	i.register(t)
	ns := namespace(t)
	for _, target := range []cluster.Target{served[1], served[2]} { // not the storage versions
		target.Namespace = ns
		create(t, target, seal(t, draft{name: "kept", namespace: ns}.in(target))[0]).want(t, http.StatusCreated)
	}
	writers := mustKubectl(t, "", "kustomize", fixture.FromRoot("policies/rbac/base"))
	apply(t, writers)
	t.Cleanup(func() { unprotect(t, writers) })
	until(t, "nobody to be a writer", func(ctx context.Context) error {
		answer, err := live.DryRun(ctx, cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: ns}, []byte(draft{name: "nobodys", namespace: ns}.legacy("v2")))
		if err == nil && !bytes.Contains(answer.Body, []byte(noWriter)) {
			err = errors.New(answer.Message())
		}
		return err
	})
	// An account that is not a writer changes nothing, not even an allowed annotation.
	kept := cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: ns}
	for what, replace := range map[string]*strings.Replacer{
		"a policy": strings.NewReplacer("require-probes", "require-limits"), "a note of kubectl's": strings.NewReplacer(`"annotations":{`, `"annotations":{"argocd.argoproj.io/tracking-id":"a",`),
		"a label":     strings.NewReplacer(`"metadata":{`, `"metadata":{"labels":{"app.kubernetes.io/instance":"a"},`),
		"an owner":    strings.NewReplacer(`"metadata":{`, `"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"a","uid":"1"}],`),
		"a finalizer": strings.NewReplacer(`"metadata":{`, `"metadata":{"finalizers":["a.b/c"],`),
	} {
		if answer := putBack(t, kept, "kept", replace); answer.OK() || !strings.Contains(answer.Message(), noWriter) {
			t.Errorf("%s: %d: %s", what, answer.Code, answer.Message())
		}
	}
	for crd, versions := range map[string]string{
		"policyexceptions.kyverno.io":          `["v2beta1","v2"]`,
		"policyexceptions.policies.kyverno.io": `["v1","v1beta1"]`,
	} {
		do(t, cluster.Request{Method: http.MethodPatch, Path: definitions + crd + "/status", ContentType: "application/merge-patch+json",
			Body: []byte(`{"status":{"storedVersions":` + versions + `}}`)}).want(t, http.StatusOK)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		out, err := exec.CommandContext(ctx, fixture.FromRoot(binaries+"/kubectl-kyverno"), "migrate", "--kubeconfig", live.Kubeconfig(), "--resource", crd).CombinedOutput()
		cancel()
		if err != nil || !bytes.Contains(out, []byte("patching status...")) {
			t.Errorf("%s: %v\n%s", crd, err, out)
		}
	}
}

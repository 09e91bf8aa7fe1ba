//go:build e2e

package policies

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// The roles of the users: Kubernetes' own roles in one namespace, and in all namespaces for the auditor.
var people = bound("RoleBinding", "name: viewers, namespace: default", "view", "viewer") +
	bound("RoleBinding", "name: developers, namespace: default", "edit", "developer") +
	bound("RoleBinding", "name: leads, namespace: default", "admin", "lead") +
	bound("ClusterRoleBinding", "name: auditors", "polex-view", "auditor")

func bound(kind, metadata, role, user string) string {
	return fmt.Sprintf(`---
apiVersion: rbac.authorization.k8s.io/v1
kind: %s
metadata: {%s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %s}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %s}]
`, kind, metadata, role, user)
}

var (
	viewer    = person{name: "viewer"}
	developer = person{name: "developer"}
	lead      = person{name: "lead"}
	auditor   = person{name: "auditor"}
	rescuer   = person{name: "lead", groups: []string{"break-glass"}} // has the permission, and is named by a group
	root      = person{name: "root", groups: []string{"system:masters"}}
	argocd    = account("argocd", "argocd-application-controller")
	flux      = account("flux-system", "kustomize-controller")
	generator = account("kyverno", "kyverno-background-controller")
	collector = account("kube-system", "generic-garbage-collector")
)

const notAmong = "is not among those who may write exceptions"

// may returns an error unless the user may create an exception, or is rejected with the text refusal.
func (p person) may(ctx context.Context, target cluster.Target, refusal string) error {
	answer, err := p.creates(ctx, target)
	switch {
	case err != nil:
		return err
	case refusal == "" && !answer.OK(), refusal != "" && (answer.Code != http.StatusForbidden || !strings.Contains(answer.Message(), refusal)):
		return fmt.Errorf("%s, %s/%s: %d: %s", p.name, target.Group, target.Version, answer.Code, answer.Message())
	}
	return nil
}

// TestRights: only the users that an overlay names can write exceptions, although Kyverno's own
// roles permit it to others. A user who may view other objects may view exceptions too.
func TestRights(t *testing.T) {
	apply(t, people)
	t.Cleanup(func() { withdraw(t, people) })
	const rbac = `cannot create resource "policyexceptions"`
	for _, target := range served {
		if target.Group == exception.PoliciesGroup {
			until(t, "Kyverno's roles to let a lead write", func(ctx context.Context) error { return lead.may(ctx, target, "") })
		}
	}
	manifests := built(t, "rbac/overlays/argocd")
	apply(t, manifests)
	t.Cleanup(func() {
		withdraw(t, manifests)
		allowed(t)
	})
	until(t, "the policy", func(ctx context.Context) error { return root.may(ctx, served[0], notAmong) })
	until(t, "the deployer's rights", func(ctx context.Context) error { return argocd.may(ctx, served[0], "") })
	for _, target := range served {
		refusal := rbac
		if target.Group == exception.PoliciesGroup {
			refusal = notAmong
		}
		for _, tc := range []struct {
			who     person
			refusal string
		}{
			{lead, refusal}, {viewer, rbac}, {developer, rbac}, {auditor, rbac}, {flux, rbac},
			{root, notAmong}, {generator, notAmong}, {argocd, ""},
		} {
			expect.NoError(t, tc.who.may(t.Context(), target, tc.refusal))
		}
	}
	t.Run("reading", reads)
	t.Run("changing", changes)
	t.Run("taking the right", takesNoRight)
	t.Run("another deployer", namesAnother)
}

// allowed waits until no policy rejects any more.
func allowed(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
	defer cancel()
	if err := live.Until(ctx, "the policy to be gone", func(ctx context.Context) error { return root.may(ctx, served[0], "") }); err != nil {
		t.Error(err)
	}
}

// reads: a viewer of a namespace sees its exceptions, and an auditor all of them.
func reads(t *testing.T) {
	for _, target := range served {
		everywhere := "/apis/" + target.Group + "/" + target.Version + "/policyexceptions"
		for _, tc := range []struct {
			who  person
			path string
			may  bool
		}{
			{viewer, target.Path(""), true}, {developer, target.Path(""), true}, {lead, target.Path(""), true}, {auditor, target.Path(""), true},
			{auditor, everywhere, true}, {viewer, everywhere, false}, {person{name: "stranger"}, target.Path(""), false},
		} {
			until(t, "what a role permits", func(ctx context.Context) error {
				answer, err := live.Do(ctx, cluster.Request{Method: http.MethodGet, Path: tc.path, As: tc.who.name})
				if err == nil && answer.OK() != tc.may {
					err = fmt.Errorf("%s: %s: %d: %s", tc.who.name, tc.path, answer.Code, answer.Message())
				}
				return err
			})
		}
	}
}

// changes: only the deployer can change stored exceptions. During a deletion only Kubernetes can,
// and only remove finalizers.
func changes(t *testing.T) {
	for _, target := range groups {
		body := strings.Replace(exceptionOf(target, "kept", "2030-01-01T00:00:00Z"), "metadata: {", "metadata: {finalizers: [polex.dev/test], ", 1)
		must.Do(t, cluster.OK(live.Do(t.Context(), cluster.Request{Method: http.MethodPost, Path: target.Path(""),
			Body: []byte(body),
			As:   argocd.name, Groups: argocd.groups})))
		patch := func(who person, patch string) error {
			return cluster.OK(live.Do(t.Context(), cluster.Request{Method: http.MethodPatch,
				Path: target.Path("kept"), Body: []byte(patch),
				ContentType: "application/merge-patch+json", As: who.name, Groups: who.groups}))
		}
		later := func(year string) string {
			return `{"metadata":{"annotations":{"polex.dev/expires-at":"` + year + `-01-01T00:00:00Z"}}}`
		}
		const freed = `{"metadata":{"finalizers":null}}`
		expect.NoError(t, patch(argocd, later("2031")))
		refused := func(what string, err error) {
			expect.That(t, err != nil && strings.Contains(err.Error(), notAmong), "%s: %s: %v", target.Group, what, err)
		}
		refused("an end", patch(root, later("2032")))
		refused("a finalizer", patch(collector, freed))
		must.Do(t, cluster.OK(live.Do(t.Context(), cluster.Request{Method: http.MethodDelete, Path: target.Path("kept"),
			As: argocd.name, Groups: argocd.groups})))
		refused("an end of what goes", patch(collector, later("2032")))
		refused("a label of what goes", patch(collector, `{"metadata":{"labels":{"a":"b"}}}`))
		refused("a spec of what goes", patch(collector, otherSpec[target.Group]))
		expect.NoError(t, patch(collector, freed))
		until(t, "it to be gone", func(ctx context.Context) error { return isThere(ctx, target.Path("kept"), false) })
	}
}

// otherSpec changes what an exception exempts.
var otherSpec = map[string]string{
	exception.KyvernoGroup:  `{"spec":{"exceptions":[{"policyName":"other","ruleNames":["check"]}]}}`,
	exception.PoliciesGroup: `{"spec":{"policyRefs":[{"name":"other","kind":"ValidatingPolicy"}]}}`,
}

// takesNoRight: an admin of a namespace cannot give anybody the deployer's role.
func takesNoRight(t *testing.T) {
	const path = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings?dryRun=All"
	body := func(role string) []byte {
		return fmt.Appendf(nil, `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: taken, namespace: default},
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %s}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: lead}]}`, role)
	}
	for role, may := range map[string]bool{"polex-deploy": false, "polex-view": true} {
		answer := must.Get(live.Do(t.Context(), cluster.Request{Method: http.MethodPost, Path: path,
			Body: body(role), As: lead.name}))(t)
		if answer.OK() != may {
			t.Errorf("%s: %d: %s", role, answer.Code, answer.Message())
		}
	}
}

// namesAnother: another overlay names another deployer instead, and the delivered one names none.
func namesAnother(t *testing.T) {
	apply(t, built(t, "rbac/overlays/flux"))
	until(t, "Flux to be named", func(ctx context.Context) error { return flux.may(ctx, served[0], "") })
	until(t, "Argo CD not to be", func(ctx context.Context) error { return argocd.may(ctx, served[0], "cannot create") })
	own := ownOverlay(t)
	apply(t, own)
	until(t, "whom the README names", func(ctx context.Context) error {
		return errors.Join(argocd.may(ctx, served[0], ""), rescuer.may(ctx, served[2], ""), flux.may(ctx, served[0], "cannot create"))
	})
	apply(t, built(t, "rbac/base"))
	for _, who := range []person{flux, argocd, rescuer, root} {
		until(t, who.name+" not to be named", func(ctx context.Context) error {
			answer, err := who.creates(ctx, served[0])
			if err == nil && answer.Code != http.StatusForbidden {
				err = fmt.Errorf("%s: %d", who.name, answer.Code)
			}
			return err
		})
	}
}

// ownOverlay builds the kustomization in the README.
func ownOverlay(t *testing.T) string {
	t.Helper()
	block := regexp.MustCompile("(?s)```yaml\n(# kustomization.yaml\n.*?)```").FindStringSubmatch(file(t, "rbac/README.md"))
	must.That(t, block != nil, "the README holds no kustomization.yaml")
	dir := t.TempDir()
	base := must.Get(filepath.Rel(dir, fixture.FromRoot("policies/rbac/base")))(t)
	const address = "https://github.com/polex-dev/polex//policies/rbac/base?ref=<commit>"
	must.That(t, strings.Contains(block[1], address), "the README's kustomization does not hold %s", address)
	must.Do(t, os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(strings.Replace(block[1], address, base,
		1)), 0o600))
	return kustomize(t, dir)
}

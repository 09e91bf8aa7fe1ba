//go:build e2e

package guard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/e2e/cluster"
)

// TestAdmission: the API server rejects unsigned, modified and wrongly signed exceptions with the
// guard's reason, and admits valid ones, through every served version.
func TestAdmission(t *testing.T) {
	settings{flags: []string{"--cluster-name", "e2e"}}.run(t).register(t)
	ns := namespace(t)
	for _, target := range served {
		target.Namespace = ns
		t.Run(target.Group+"-"+target.Version, func(t *testing.T) { admits(t, target) })
	}
	t.Run("life", func(t *testing.T) { lives(t, ns) })
}

func admits(t *testing.T, target cluster.Target) {
	ns := target.Namespace
	write := func(name string) string { return draft{name: name + "-" + target.Version, namespace: ns}.in(target) }
	elsewhere := draft{name: "elsewhere-" + target.Version, namespace: "default"}.in(target)
	other := draft{name: "other-cluster-" + target.Version, namespace: ns, annotations: ", polex.dev/cluster: another"}.in(target)
	mine := draft{name: "this-cluster-" + target.Version, namespace: ns, annotations: ", polex.dev/cluster: e2e"}.in(target)
	self := draft{name: "self-" + target.Version, namespace: ns, policy: "polex-verify"}.in(target)
	sealed := seal(t, write("honest"), write("wide"), elsewhere, other, mine, self)

	create(t, target, write("unsigned")).refusedFor(t, "unsigned")
	dry, err := live.DryRun(t.Context(), target, []byte(write("unsigned")))
	if err != nil {
		t.Fatal(err)
	}
	response{dry}.refusedFor(t, "unsigned")
	create(t, target, strings.Replace(sealed[1], "require-probes", "require-limits", 1)).refusedFor(t, "altered")
	create(t, target, sealAs(t, sandbox.Identity{Ref: "refs/heads/feature"}, write("branch"))[0]).refusedFor(t, "wrong-identity")
	create(t, target, sealAs(t, sandbox.Identity{Repository: "acme/other"}, write("repository"))[0]).refusedFor(t, "wrong-identity")
	create(t, target, strings.Replace(sealed[2], "namespace: default", "namespace: "+ns, 1)).refusedFor(t, "altered")
	create(t, target, sealed[3]).refusedFor(t, "another-cluster")
	create(t, target, sealed[4]).want(t, http.StatusCreated)
	create(t, target, sealed[5]).refusedFor(t, "reaches-guard")
	create(t, target, sealed[0]).want(t, http.StatusCreated)

	// A signature for another version does not count, although the objects are the same.
	for _, version := range served {
		if version.Group == target.Group && version.Version != target.Version {
			version.Namespace = ns
			moved := strings.Replace(sealed[1], target.Group+"/"+target.Version, version.Group+"/"+version.Version, 1)
			create(t, version, moved).refusedFor(t, "altered")
		}
	}
}

// lives tests all changes in the life of a valid exception.
func lives(t *testing.T, ns string) {
	target := cluster.Target{Group: exception.KyvernoGroup, Version: "v2", Namespace: ns}
	path := target.Path("life")
	older := seal(t, draft{name: "life", namespace: ns, lives: 2 * time.Hour}.legacy("v2"))[0]
	nextSecond(t)
	newer := seal(t, draft{name: "life", namespace: ns, lives: time.Hour}.legacy("v2"))[0]
	put := func(text string) response {
		t.Helper()
		var there struct {
			Metadata struct{ ResourceVersion string }
		}
		decode(t, do(t, cluster.Request{Method: http.MethodGet, Path: path}), &there)
		return do(t, cluster.Request{Method: http.MethodPut, Path: path, Body: []byte(strings.Replace(text, "metadata:", "metadata:\n  resourceVersion: \""+there.Metadata.ResourceVersion+"\"", 1))})
	}
	patch := func(kind, text string) response {
		t.Helper()
		options := "?fieldManager=e2e"
		if kind == "apply-patch+yaml" {
			options += "&force=true"
		}
		return do(t, cluster.Request{Method: http.MethodPatch, Path: path + options, ContentType: "application/" + kind, Body: []byte(text)})
	}

	create(t, target, older).want(t, http.StatusCreated)
	put(newer).want(t, http.StatusOK)
	put(newer).want(t, http.StatusOK)
	put(older).refusedFor(t, "rollback")
	// Read in the other version, the stored exception is still the newer one.
	beta := target
	beta.Version = "v2beta1"
	olderBeta := seal(t, draft{name: "beta", namespace: ns, lives: 2 * time.Hour}.legacy("v2beta1"))[0]
	nextSecond(t)
	create(t, target, seal(t, draft{name: "beta", namespace: ns, lives: time.Hour}.legacy("v2"))[0]).want(t, http.StatusCreated)
	var there struct {
		Metadata struct{ ResourceVersion string }
	}
	decode(t, do(t, cluster.Request{Method: http.MethodGet, Path: beta.Path("beta")}), &there)
	do(t, cluster.Request{Method: http.MethodPut, Path: beta.Path("beta"), Body: []byte(strings.Replace(olderBeta, "metadata:", "metadata:\n  resourceVersion: \""+there.Metadata.ResourceVersion+"\"", 1))}).refusedFor(t, "rollback")

	patch("merge-patch+json", `{"metadata":{"labels":{"a":"b"}}}`).refusedFor(t, "altered")
	patch("merge-patch+json", `{"metadata":{"finalizers":["a/b"]}}`).refusedFor(t, "altered")
	patch("merge-patch+json", `{"spec":{"exceptions":[{"policyName":"*","ruleNames":["*"]}]}}`).refusedFor(t, "altered")
	patch("merge-patch+json", `{"metadata":{"annotations":null}}`).refusedFor(t, "unsigned")
	// The annotation of kubectl apply, and a server-side apply.
	note, err := json.Marshal(newer)
	if err != nil {
		t.Fatal(err)
	}
	patch("merge-patch+json", fmt.Sprintf(`{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":%s}}}`, note)).want(t, http.StatusOK)
	patch("apply-patch+yaml", newer).want(t, http.StatusOK)
	patch("apply-patch+yaml", older).refusedFor(t, "rollback")

	// One that waits for dependents is deleted at once.
	do(t, cluster.Request{Method: http.MethodDelete, Path: path, Body: []byte(`{"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Foreground"}`), ContentType: "application/json"}).want(t, http.StatusOK)
	if err := live.Until(t.Context(), "it to be gone", func(ctx context.Context) error {
		answer, err := live.Do(ctx, cluster.Request{Method: http.MethodGet, Path: path})
		if err == nil && answer.Code != http.StatusNotFound {
			err = errors.New(answer.Message())
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}

	// A name from the API server is not the signed name.
	create(t, target, strings.Replace(newer, "name: life", "generateName: life-", 1)).refusedFor(t, "altered")
	// Delete all of them at once.
	do(t, cluster.Request{Method: http.MethodDelete, Path: target.Path("")}).want(t, http.StatusOK)
}

// nextSecond waits for the next second. The log counts in seconds, so a later signature is newer.
func nextSecond(t *testing.T) {
	t.Helper()
	timer := time.NewTimer(time.Until(time.Now().Truncate(time.Second).Add(time.Second)))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
		t.Fatal(t.Context().Err())
	}
}

func decode(t *testing.T, r response, into any) {
	t.Helper()
	if err := decodeAnswer(r.Answer, into); err != nil {
		t.Fatal(err)
	}
}

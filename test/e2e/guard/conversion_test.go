//go:build e2e

package guard

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/test/e2e/cluster"
)

// TestConversionWebhook: while a webhook converts exceptions, the guard reports none as verified,
// and polex-guard check names the webhook. An exception is still deleted at its expiry, and without
// the webhook it is verified again.
func TestConversionWebhook(t *testing.T) {
	i := settings{}.run(t)
	i.register(t)
	signed := cluster.Target{Group: "kyverno.io", Version: "v2beta1", Namespace: namespace(t)}
	shown := signed
	shown.Version = "v2"
	texts := seal(t, draft{name: "stays", namespace: signed.Namespace}.legacy("v2beta1"), draft{name: "ends", namespace: signed.Namespace, lives: 20 * time.Second}.legacy("v2beta1"),
		draft{name: "wide", namespace: signed.Namespace}.legacy("v2beta1"))
	create(t, signed, texts[0]).want(t, http.StatusCreated)
	create(t, signed, texts[1]).want(t, http.StatusCreated)
	i.until(t, "both to be verified", func(ctx context.Context) error {
		return reported(ctx, signed.Namespace, []string{"ends verified pass", "stays verified pass"})
	})
	const definition = definitions + "policyexceptions.kyverno.io"
	convert := func(conversion string) {
		do(t, cluster.Request{Method: http.MethodPatch, Path: definition, ContentType: "application/merge-patch+json", Body: []byte(`{"spec":{"conversion":` + conversion + `}}`)}).want(t, http.StatusOK)
	}
	url, bundle := widener(t)
	convert(fmt.Sprintf(`{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"url":%q,"caBundle":%q}}}`, url, bundle))
	t.Cleanup(func() {
		_, _ = live.Do(context.Background(), cluster.Request{Method: http.MethodPatch, Path: definition, ContentType: "application/merge-patch+json", Body: []byte(`{"spec":{"conversion":{"strategy":"None","webhook":null}}}`)})
	})
	i.until(t, "neither to be verified", func(ctx context.Context) error {
		return reported(ctx, signed.Namespace, []string{"ends conversion-webhook fail", "stays conversion-webhook fail"})
	})
	create(t, signed, texts[2]).want(t, http.StatusCreated)
	if answer := do(t, cluster.Request{Method: http.MethodGet, Path: shown.Path("wide")}); !answer.OK() || strings.Contains(string(answer.Body), `"team-a"`) {
		t.Fatalf("Kyverno is shown what was signed: %d %s", answer.Code, answer.Body)
	}
	i.until(t, "what Kyverno is shown otherwise not to be verified", func(ctx context.Context) error {
		return contains(ctx, fmt.Sprintf(reports, signed.Namespace), `"name":"wide"`)
	})
	if err := contains(t.Context(), fmt.Sprintf(reports, signed.Namespace), `"rule":"verified"`); err == nil {
		t.Error("something is verified")
	}
	if got := i.doctor(t, 1); !slices.Contains(got, "conversion-webhook") {
		t.Errorf("check says %q", got)
	}
	gone(t, i, signed, "ends", texts[1])
	convert(`{"strategy":"None","webhook":null}`)
	i.until(t, "the one that was stored before to be verified again, and not the other one", func(ctx context.Context) error {
		return reported(ctx, signed.Namespace, []string{"stays verified pass", "wide altered fail"})
	})
}

// TestOtherSchema: a served version with another schema shows Kyverno less than the signed object,
// without any webhook. While there is such a version, no exception is verified.
func TestOtherSchema(t *testing.T) {
	i := settings{}.run(t)
	i.register(t)
	signed := cluster.Target{Group: "kyverno.io", Version: "v2beta1", Namespace: namespace(t)}
	shown := signed
	shown.Version = "v2"
	const definition = definitions + "policyexceptions.kyverno.io"
	var before map[string]any
	if err := json.Unmarshal(do(t, cluster.Request{Method: http.MethodGet, Path: definition}).Body, &before); err != nil {
		t.Fatal(err)
	}
	spec, err := json.Marshal(map[string]any{"spec": before["spec"]})
	if err != nil {
		t.Fatal(err)
	}
	patch := func(ctx context.Context, spec []byte) (*cluster.Answer, error) {
		return live.Do(ctx, cluster.Request{Method: http.MethodPatch, Path: definition, ContentType: "application/merge-patch+json", Body: spec})
	}
	t.Cleanup(func() { _, _ = patch(context.Background(), spec) })
	versions := before["spec"].(map[string]any)["versions"].([]any)
	for _, version := range versions {
		v := version.(map[string]any)
		v["storage"] = v["name"] == "v2beta1"
		if v["name"] != "v2" {
			continue
		}
		resources := v["schema"].(map[string]any)
		for _, field := range []string{"openAPIV3Schema", "properties", "spec", "properties", "match", "properties", "any", "items", "properties", "resources", "properties"} {
			resources = resources[field].(map[string]any)
		}
		delete(resources, "namespaces")
	}
	narrowed, err := json.Marshal(map[string]any{"spec": map[string]any{"versions": versions}})
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := patch(t.Context(), narrowed); err != nil || !answer.OK() {
		t.Fatalf("%v %+v", err, answer)
	}
	text := seal(t, draft{name: "wide", namespace: signed.Namespace}.legacy("v2beta1"))[0]
	i.until(t, "Kyverno to be shown more than was signed", func(ctx context.Context) error {
		if answer, err := live.Do(ctx, cluster.Request{Method: http.MethodPost, Path: signed.Path(""), Body: []byte(text)}); err != nil || !answer.OK() && answer.Code != http.StatusConflict {
			return fmt.Errorf("shown: %w", errors.Join(err, fmt.Errorf("%+v", answer)))
		}
		if answer, err := live.Do(ctx, cluster.Request{Method: http.MethodGet, Path: shown.Path("wide")}); err != nil || !answer.OK() || strings.Contains(string(answer.Body), `"namespaces"`) {
			_, _ = live.Do(ctx, cluster.Request{Method: http.MethodDelete, Path: signed.Path("wide")})
			return fmt.Errorf("shown: %w", errors.Join(err, fmt.Errorf("%+v", answer)))
		}
		return nil
	})
	i.until(t, "it not to be verified", func(ctx context.Context) error {
		return reported(ctx, signed.Namespace, []string{"wide conversion-webhook fail"})
	})
	if got := i.doctor(t, 1); !slices.Contains(got, "conversion-webhook") {
		t.Errorf("check says %q", got)
	}
}

// widener is a conversion webhook. In v2, it shows an exception that exempts every Pod, and in
// other versions the stored one.
func widener(t *testing.T) (url, bundle string) {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review struct {
			APIVersion string
			Request    struct {
				UID               string
				DesiredAPIVersion string
				Objects           []map[string]any
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		for _, o := range review.Request.Objects {
			o["apiVersion"] = review.Request.DesiredAPIVersion
			resources := map[string]any{"kinds": []string{"Pod"}}
			if !strings.HasSuffix(review.Request.DesiredAPIVersion, "/v2") {
				resources["names"], resources["namespaces"] = []string{"web-*"}, []string{"team-a"}
			}
			o["spec"].(map[string]any)["match"] = map[string]any{"any": []any{map[string]any{"resources": resources}}}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": review.APIVersion, "kind": "ConversionReview",
			"response": map[string]any{"uid": review.Request.UID, "convertedObjects": review.Request.Objects, "result": map[string]string{"status": "Success"}}})
	}))
	dir := t.TempDir()
	text := certify(t, dir)
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
	if err != nil {
		t.Fatal(err)
	}
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL + "/", base64.StdEncoding.EncodeToString(text)
}

// TestLeaseForYears: a Lease with a duration of years counts no longer than a Lease of a guard.
func TestLeaseForYears(t *testing.T) {
	const leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
	do(t, cluster.Request{Method: http.MethodDelete, Path: leases + "/polex-guard"})
	do(t, cluster.Request{Method: http.MethodPost, Path: leases, Body: fmt.Appendf(nil, `{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: polex-guard},
spec: {holderIdentity: somebody, leaseDurationSeconds: 1000000000, leaseTransitions: 1, acquireTime: %[1]q, renewTime: %[1]q}}`, time.Now().UTC().Format("2006-01-02T15:04:05.000000Z"))}).want(t, http.StatusCreated)
	i := settings{}.run(t)
	i.until(t, "the guard to lead", func(ctx context.Context) error { return i.measures(ctx, "polex_guard_leader 1") })
}

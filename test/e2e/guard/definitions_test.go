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
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// TestConversionWebhook: while a webhook converts exceptions, the guard reports none as verified, and polex-guard check
// names the webhook. An exception is still deleted at its expiry, and without the webhook it is verified again.
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
	i.until(t, "both to be verified", reported(signed.Namespace, "ends verified pass", "stays verified pass"))
	convert := func(conversion string) {
		merge(t, legacyDefinition, `{"spec":{"conversion":`+conversion+`}}`).want(t, http.StatusOK)
	}
	url, bundle := widener(t)
	convert(fmt.Sprintf(`{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"url":%q,"caBundle":%q}}}`, url, bundle))
	t.Cleanup(func() {
		_, _ = live.Merge(context.Background(), legacyDefinition,
			[]byte(`{"spec":{"conversion":{"strategy":"None","webhook":null}}}`))
	})
	i.until(t, "neither to be verified", reported(signed.Namespace, "ends conversion-webhook fail",
		"stays conversion-webhook fail"))
	create(t, signed, texts[2]).want(t, http.StatusCreated)
	if answer := read(t, shown.Path("wide")); !answer.OK() || strings.Contains(string(answer.Body), `"team-a"`) {
		t.Fatalf("Kyverno is shown what was signed: %d %s", answer.Code, answer.Body)
	}
	i.until(t, "what Kyverno is shown otherwise not to be verified", contains(fmt.Sprintf(reports, signed.Namespace),
		`"name":"wide"`))
	expect.That(t, contains(fmt.Sprintf(reports, signed.Namespace), `"rule":"verified"`)(t.Context()) != nil,
		"something is verified")
	got := i.doctor(t, 1)
	expect.That(t, slices.Contains(got, "conversion-webhook"), "check says %q", got)
	gone(t, i, signed, "ends", texts[1])
	convert(`{"strategy":"None","webhook":null}`)
	i.until(t, "the one that was stored before to be verified again, and not the other one",
		reported(signed.Namespace, "stays verified pass", "wide altered fail"))
}

// TestOtherSchema: a served version with another schema shows Kyverno less than the signed object,
// without any webhook. While there is such a version, no exception is verified.
func TestOtherSchema(t *testing.T) {
	i := settings{}.run(t)
	i.register(t)
	signed := cluster.Target{Group: "kyverno.io", Version: "v2beta1", Namespace: namespace(t)}
	shown := signed
	shown.Version = "v2"
	versions := versionsOf(t, legacyDefinition)
	for _, version := range versions {
		v := version.(map[string]any)
		v["storage"] = v["name"] == "v2beta1"
		if v["name"] != "v2" {
			continue
		}
		resources := v["schema"].(map[string]any)
		const path = "openAPIV3Schema properties spec properties match properties any items properties resources"
		for _, field := range strings.Fields(path + " properties") {
			resources = resources[field].(map[string]any)
		}
		delete(resources, "namespaces")
	}
	define(t, legacyDefinition, versions)
	text := seal(t, draft{name: "wide", namespace: signed.Namespace}.legacy("v2beta1"))[0]
	i.until(t, "Kyverno to be shown more than was signed", func(ctx context.Context) error {
		if answer, err := live.Post(ctx, signed.Path(""),
			[]byte(text)); err != nil || !answer.OK() && answer.Code != http.StatusConflict {
			return fmt.Errorf("shown: %w", errors.Join(err, fmt.Errorf("%+v", answer)))
		}
		if answer, err := live.Get(ctx,
			shown.Path("wide")); err != nil || !answer.OK() || strings.Contains(string(answer.Body), `"namespaces"`) {
			_, _ = live.Delete(ctx, signed.Path("wide"))
			return fmt.Errorf("shown: %w", errors.Join(err, fmt.Errorf("%+v", answer)))
		}
		return nil
	})
	i.until(t, "it not to be verified", reported(signed.Namespace, "wide conversion-webhook fail"))
	got := i.doctor(t, 1)
	expect.That(t, slices.Contains(got, "conversion-webhook"), "check says %q", got)
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
	pair := must.Get(tls.LoadX509KeyPair(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")))(t)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL + "/", base64.StdEncoding.EncodeToString(text)
}

const legacyDefinition = definitions + "policyexceptions.kyverno.io"

// versionsOf returns the versions of a definition, and restores them when the test ends.
func versionsOf(t *testing.T, path string) []any {
	t.Helper()
	var definition struct{ Spec struct{ Versions []any } }
	body := read(t, path).Body
	var before struct {
		Spec struct{ Versions json.RawMessage }
	}
	must.Do(t, errors.Join(json.Unmarshal(body, &definition), json.Unmarshal(body, &before)))
	t.Cleanup(func() {
		_, _ = live.Merge(context.Background(), path, fmt.Appendf(nil, `{"spec":{"versions":%s}}`,
			before.Spec.Versions))
	})
	return definition.Spec.Versions
}

// define changes the versions of a definition.
func define(t *testing.T, path string, versions []any) {
	t.Helper()
	body := must.Get(json.Marshal(map[string]any{"spec": map[string]any{"versions": versions}}))(t)
	merge(t, path, string(body)).want(t, http.StatusOK)
}

// serve decides which of the versions are served.
func serve(versions []any, is func(version string) bool) {
	for _, item := range versions {
		version := item.(map[string]any)
		version["served"] = is(version["name"].(string))
	}
}

// withStatus gives exceptions a status of any content, as Kyverno may do in a later release.
func withStatus(t *testing.T) {
	t.Helper()
	versions := versionsOf(t, legacyDefinition)
	for _, item := range versions {
		version := item.(map[string]any)
		version["subresources"] = map[string]any{"status": map[string]any{}}
		properties := version["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any)["properties"].(map[string]any)
		properties["status"] = map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	}
	define(t, legacyDefinition, versions)
}

// TestDefinitionForAMoment: a definition that lacks a field for a moment is counted and told in an Event on the
// definition. An exception that was widened by it is reported, although its resource version has not changed.
func TestDefinitionForAMoment(t *testing.T) {
	i := settings{}.run(t)
	i.register(t)
	const count = `polex_guard_definition_changes_total{group="kyverno.io"} `
	target := cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: namespace(t)}
	create(t, target, seal(t, draft{name: "wide", namespace: target.Namespace}.legacy("v2"))[0]).want(t, http.StatusCreated)
	i.until(t, "it to be verified", reported(target.Namespace, "wide verified pass"))
	whole := versionsOf(t, legacyDefinition)
	narrowed := versionsOf(t, legacyDefinition)
	for _, item := range narrowed {
		schema := item.(map[string]any)["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any)
		delete(schema["properties"].(map[string]any)["spec"].(map[string]any)["properties"].(map[string]any), "match")
		spec := schema["properties"].(map[string]any)["spec"].(map[string]any)
		spec["required"] = []any{"exceptions"}
	}
	define(t, legacyDefinition, narrowed)
	define(t, legacyDefinition, whole)
	i.until(t, "both changes to be counted", i.measures(count+"2"))
	i.until(t, "an Event", contains(eventsOf("default"), `"reason":"DefinitionChanged"`))
	define(t, legacyDefinition, narrowed)
	i.until(t, "the widened one to be reported", reported(target.Namespace, "wide altered fail"))
	define(t, legacyDefinition, whole)
	i.until(t, "it to be verified again", reported(target.Namespace, "wide verified pass"))
}

// TestUnservedVersion: while the API server does not serve a version that Kyverno reads, Kyverno
// keeps the exceptions that it has read. The guard and its check report that, for both groups.
func TestUnservedVersion(t *testing.T) {
	i := settings{}.run(t)
	i.register(t)
	for _, served := range []cluster.Target{{Group: "kyverno.io", Version: "v2beta1"}, {Group: "policies.kyverno.io", Version: "v1"}} {
		t.Run(strings.ReplaceAll(served.Group, ".", "-"), func(t *testing.T) {
			served.Namespace = namespace(t)
			create(t, served, seal(t, draft{name: "kept", namespace: served.Namespace}.in(served))[0]).want(t, http.StatusCreated)
			i.until(t, "it to be verified", reported(served.Namespace, "kept verified pass"))
			path := definitions + "policyexceptions." + served.Group
			whole, without := versionsOf(t, path), versionsOf(t, path)
			serve(without, func(version string) bool { return version == served.Version })
			define(t, path, without)
			i.until(t, "it to be reported", reported(served.Namespace, "kept conversion-webhook fail"))
			define(t, path, whole)
			i.until(t, "it to be verified again", reported(served.Namespace, "kept verified pass"))
		})
	}
}

// TestEndsInVersionThatIsGone: an exception that was signed in a version that is no longer served
// is found and deleted at its expiry, also by a new leader.
func TestEndsInVersionThatIsGone(t *testing.T) {
	i := settings{}.run(t)
	i.register(t)
	target := cluster.Target{Group: "kyverno.io", Version: "v2beta1", Namespace: namespace(t)}
	text := seal(t, draft{name: "old", namespace: target.Namespace, lives: 30 * time.Second}.legacy("v2beta1"))[0]
	create(t, target, text).want(t, http.StatusCreated)
	i.until(t, "the report", reported(target.Namespace, "old verified pass"))
	whole, without := versionsOf(t, legacyDefinition), versionsOf(t, legacyDefinition)
	serve(without, func(version string) bool { return version != target.Version })
	define(t, legacyDefinition, without)
	i.until(t, "the version to be gone", gonePath(target.Path("")))
	i.group.Stop()
	i.again(t)
	i.until(t, "the report on what cannot be read", reported(target.Namespace, "old unreadable fail"))
	shown := target
	shown.Version = "v2"
	end := gone(t, i, shown, "old", text)
	expect.That(t, !time.Now().Before(end), "it went before its end, at %s", end)
	define(t, legacyDefinition, whole)
	i.until(t, "the version to be served", func(ctx context.Context) error {
		return cluster.OK(live.Get(ctx, target.Path("")))
	})
}

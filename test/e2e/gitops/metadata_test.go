//go:build e2e

package gitops

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/polex-dev/polex/test/e2e/argocd"
	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/e2e/flux"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// shown returns the block of docs/how-to/gitops.md under a heading. The block begins with a text.
func shown(t *testing.T, heading, begin string) string {
	t.Helper()
	page := must.Get(os.ReadFile(fixture.FromRoot("docs/how-to/gitops.md")))(t)
	_, section, _ := strings.Cut(string(page), "\n## "+heading+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for i, block := range strings.Split(section, "```") {
		if _, text, _ := strings.Cut(block, "\n"); i%2 == 1 && strings.HasPrefix(text, begin) {
			return text
		}
	}
	t.Fatalf("docs/how-to/gitops.md shows no %q under %q", begin, heading)
	return ""
}

// indented indents a block for a section.
func indented(block string) string {
	return "\n  " + strings.ReplaceAll(strings.TrimSpace(block), "\n", "\n  ") + "\n"
}

// labelled fails unless the cluster has an exception with these labels and annotations.
func labelled(t *testing.T, target cluster.Target, name string, want map[string]string) {
	t.Helper()
	answer := must.Get(live.Get(t.Context(), target.Path(name)))(t)
	var have struct {
		Metadata struct{ Labels, Annotations map[string]string }
	}
	must.Do(t, json.Unmarshal(answer.Body, &have))
	for key, value := range want {
		expect.That(t, have.Metadata.Labels[key] == value || have.Metadata.Annotations[key] == value,
			"%s has no %s: %s", name, key, value)
	}
}

// TestHelm: the guard rejects a chart from docs/how-to/gitops.md because of Helm's additions, and
// accepts it when the trust policy lists them. Helm does not evaluate signed text in braces.
func TestHelm(t *testing.T) {
	chart, home := t.TempDir(), t.TempDir()
	conditional := strings.Replace(draft("web"), "spec:\n", "spec:\n  conditions: {any: [{key: '{{ request.operation }}', operator: Equals, value: CREATE}]}\n", 1)
	sealed := seal(t, conditional, newer("native"))
	for path, text := range map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: exceptions\nversion: 0.1.0\n", "templates/exceptions.yaml": shown(t, "Helm", "{{"),
		"signed/web.yaml": "# a remark\n" + sealed[0], "signed/team/native.yaml": sealed[1], "signed/README.md": "signed\n",
	} {
		file := filepath.Join(chart, filepath.FromSlash(path))
		must.Do(t, os.MkdirAll(filepath.Dir(file), 0o700))
		must.Do(t, os.WriteFile(file, []byte(text), 0o600))
	}
	run := func(stdin, program string, args ...string) (string, error) {
		c := exec.CommandContext(t.Context(), program, args...)
		c.Stdin = strings.NewReader(stdin)
		c.Env = []string{"HOME=" + home, "KUBECONFIG=" + live.Kubeconfig(), "HELM_NAMESPACE=" + where}
		out, err := c.CombinedOutput()
		return string(out), err
	}
	helm := filepath.Join(fixture.FromRoot(binaries), "helm")
	output := func(stdin, program string, args ...string) string {
		t.Helper()
		out, err := run(stdin, program, args...)
		must.That(t, err == nil, "%v: %s", err, out)
		return out
	}

	output(output("", helm, "template", "exceptions", chart), filepath.Join(folder, "polex-verify"), "--config", box.ConfigPath, "-")
	t.Run("not allowed", func(t *testing.T) {
		guarded(t)
		out, err := run("", helm, "upgrade", "--install", "exceptions", chart)
		expect.That(t, err != nil, "it is installed")
		expect.Contains(t, out, "[altered]", "label app.kubernetes.io/managed-by=Helm was added after signing", "list it under allowedMetadata in the trust policy")
		holds(t)
	})
	t.Run("allowed", func(t *testing.T) {
		guarded(t, indented(shown(t, "Helm", "allowedMetadata:")))
		output("", helm, "upgrade", "--install", "exceptions", chart)
		holds(t, "native", "web")
		labelled(t, exceptions, "web", map[string]string{"app.kubernetes.io/managed-by": "Helm", "meta.helm.sh/release-name": "exceptions"})
		out, err := run("", helm, "install", "other", chart)
		expect.That(t, err != nil, "another release is installed: %s", out)
		must.Do(t, os.Remove(filepath.Join(chart, "signed/web.yaml")))
		output("", helm, "upgrade", "exceptions", chart)
		holds(t, "native")
		output("", helm, "uninstall", "exceptions")
		holds(t)
	})
}

// TestFluxCommonMetadata: the guard rejects Flux's commonMetadata, and accepts it when the trust
// policy lists it, from Git and from an OCI artifact.
func TestFluxCommonMetadata(t *testing.T) {
	f := startFlux(t, false)
	r := newRepository(t, "metadata", nil)
	commit := r.commit(t, map[string]string{"signed/web.yaml": seal(t, draft("web"))[0]})
	archive := must.Get(remote.Archive(t.Context(), r.name, commit, "signed"))(t)
	_, common, _ := strings.Cut(shown(t, "Flux", "spec:"), "spec:\n")
	labels := example(t, "flux/exceptions.yaml", repository{})
	labels = strings.Replace(labels, "  path: ./signed\n", "  path: ./signed\n"+common, 1)
	artifact := strings.NewReplacer("kind: GitRepository", "kind: OCIRepository", "https://github.com", "oci://registry", "ref: {branch: main}", "ref: {tag: main}").Replace(labels)
	allowed := indented(shown(t, "Flux", "allowedMetadata:"))
	for name, tc := range map[string]struct {
		manifests, trust, status string
		wanted                   []string
		publish                  func(*flux.Flux) error
	}{
		"git": {labels, allowed, "True", nil, func(f *flux.Flux) error { return f.Publish(t.Context(), where, "exceptions", commit, archive) }},
		"oci": {artifact, allowed, "True", nil, func(f *flux.Flux) error { return f.PublishArtifact(t.Context(), where, "exceptions", archive) }},
		"not allowed": {labels, "", "False", []string{"[altered]", "label team=platform was added after signing", "list it under allowedMetadata"},
			func(f *flux.Flux) error { return f.Publish(t.Context(), where, "exceptions", commit, archive) }},
	} {
		t.Run(name, func(t *testing.T) {
			guarded(t, tc.trust)
			apply(t, tc.manifests)
			t.Cleanup(func() { withdraw(t, f) })
			must.Do(t, tc.publish(f))
			applied(t, f, "", tc.status, tc.wanted...)
			if tc.status == "True" {
				holds(t, "web")
				labelled(t, exceptions, "web", map[string]string{"team": "platform", "acme.example/source": "exceptions"})
			}
		})
	}
}

// TestArgoCDAndKustomize: the guard rejects kustomize's additions, and accepts them when the trust
// policy lists them, from Git and from an OCI artifact.
func TestArgoCDAndKustomize(t *testing.T) {
	files := map[string]string{"signed/web.yaml": seal(t, draft("web"))[0], "kustomization.yaml": shown(t, "Argo CD and kustomize", "apiVersion:")}
	git := newRepository(t, "kustomized", files)
	archive := must.Get(remote.Archive(t.Context(), git.name, git.commit(t,
		map[string]string{"README.md": "exceptions\n"}), "."))(t)
	oci := repository{url: artifact(t, archive)}
	apply(t, fmt.Sprintf(`apiVersion: v1
kind: Secret
metadata: {name: registry, namespace: %s, labels: {argocd.argoproj.io/secret-type: repository}}
stringData: {type: oci, url: %q, insecureOCIForceHttp: "true"}
`, argocd.Namespace, oci.url))
	allowed := indented(shown(t, "Flux", "allowedMetadata:"))
	applies := func(t *testing.T, r repository) {
		t.Helper()
		text := example(t, "argocd/application.yaml", r)
		from := strings.Index(text, "    # Explicit:")
		to := strings.Index(text, "  destination:\n    server")
		must.That(t, from >= 0 && to >= from, "the Application has another form")
		apply(t, example(t, "argocd/rbac.yaml", repository{}))
		must.Do(t, argo.Configure(t.Context(), map[string]string{"application.sync.impersonation.enabled": "true"}))
		apply(t, strings.Replace(text[:from]+text[to:], "path: signed", "path: .", 1))
		t.Cleanup(func() { cleared(t) })
	}
	t.Run("not allowed", func(t *testing.T) {
		guarded(t)
		applies(t, git)
		expect.Contains(t, watched(t, "the sync to fail", failed).Said(), "[altered]", "label team=platform was added after signing", "list it under allowedMetadata")
		holds(t)
	})
	for name, r := range map[string]repository{"git": git, "oci": oci} {
		t.Run(name, func(t *testing.T) {
			guarded(t, allowed)
			applies(t, r)
			watched(t, "the sync", func(a *argocd.Application) bool { return a.Sync.Status == "Synced" })
			holds(t, "web")
			labelled(t, exceptions, "web", map[string]string{"team": "platform", "acme.example/source": "exceptions"})
		})
	}
}

// artifact serves an archive as an OCI artifact with the tag main, and returns its address.
func artifact(t *testing.T, archive []byte) string {
	t.Helper()
	blobs := map[string][]byte{}
	descriptor := func(mediaType string, blob []byte) map[string]any {
		digest := fmt.Sprintf("sha256:%x", sha256.Sum256(blob))
		blobs[digest] = blob
		return map[string]any{"mediaType": mediaType, "digest": digest, "size": len(blob)}
	}
	const manifestType = "application/vnd.oci.image.manifest.v1+json"
	manifest := must.Get(json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": manifestType, "config": descriptor("application/vnd.oci.empty.v1+json", []byte("{}")),
		"layers": []any{descriptor("application/vnd.oci.image.layer.v1.tar+gzip", archive)},
	}))(t)
	blobs["main"] = manifest
	digest := descriptor(manifestType, manifest)["digest"].(string)
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		blob, there := blobs[r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]]
		switch {
		case r.URL.Path == "/v2/":
		case !there:
			http.NotFound(w, r)
		default:
			if strings.Contains(r.URL.Path, "/manifests/") {
				w.Header().Set("Content-Type", manifestType)
				w.Header().Set("Docker-Content-Digest", digest)
			}
			w.Header().Set("Content-Length", fmt.Sprint(len(blob)))
			_, _ = w.Write(blob)
		}
	}))
	t.Cleanup(registry.Close)
	return "oci" + strings.TrimPrefix(registry.URL, "http") + "/exceptions"
}

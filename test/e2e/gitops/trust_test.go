//go:build e2e

package gitops

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// trustPolicy returns the examples' trust policy with the issuer, the workflow and the number of the
// sandbox.
func trustPolicy(t *testing.T) string {
	t.Helper()
	text := example(t, "argocd/plugin/trust.yaml", repository{})
	for old, now := range map[string]string{
		"      github:\n": "      issuer: " + box.IssuerURL + "\n      github:\n", "123456789": "1001",
	} {
		if !strings.Contains(text, old) {
			t.Fatalf("the trust policy has no %q:\n%s", old, text)
		}
		text = strings.Replace(text, old, now, 1)
	}
	return text
}

// configMap returns a ConfigMap like `kubectl create configmap --from-file`.
func configMap(t *testing.T, namespace, name string, files map[string]string) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "namespace": namespace}, "data": files})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func trustedRoot(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(box.TrustedRootPath)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

//go:build e2e

package gitops

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// issuer is the OIDC issuer in the examples.
const issuer = "https://token.actions.githubusercontent.com"

// trustPolicy returns the examples' trust policy with the sandbox's issuer. The name of the
// workflow is the same.
func trustPolicy(t *testing.T) string {
	t.Helper()
	text := example(t, "argocd/plugin/trust.yaml", repository{})
	replaced := strings.ReplaceAll(text, issuer, box.IssuerURL)
	if replaced == text {
		t.Fatalf("the trust policy names no issuer %s", issuer)
	}
	return replaced
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

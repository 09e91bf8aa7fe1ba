package guard

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLoadPolicies: the loader reads the policies that the configuration names, relative to its
// folder. A changed file changes the digest, and an unreadable file is an error.
func TestLoadPolicies(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	write("key.pub", string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})))
	write("guard.yaml", "apiVersion: polex.dev/v1alpha1\nkind: Config\ntrust:\n  authorities: [{name: key, keyFile: key.pub, insecureWithoutLog: true}]\nguard:\n  policies: [policies.yaml]\n")
	load := loader(filepath.Join(dir, "guard.yaml"), "polex-system")
	seen := ""
	for _, policies := range []string{
		"apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: a}\nspec: {rules: [{name: b, match: {any: [&pods {resources: {kinds: [Pod]}}]}}]}\n",
		"apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: a}\nspec: {}\n",
	} {
		write("policies.yaml", policies)
		rules, err := load(seen)
		if err != nil || rules == nil {
			t.Fatalf("%v %v", rules, err)
		}
		seen = rules.Digest()
		if again, err := load(seen); again != nil || err != nil {
			t.Errorf("nothing has changed: %v %v", again, err)
		}
	}
	write("policies.yaml", "kind: {\n---\nkind: }\n")
	if rules, err := load(seen); rules != nil || err == nil || !strings.Contains(err.Error(), "policies.yaml:1: this file of policies cannot be read") {
		t.Errorf("%v %v", rules, err)
	}
	if err := os.Remove(filepath.Join(dir, "policies.yaml")); err != nil {
		t.Fatal(err)
	}
	if rules, err := load(seen); rules != nil || err == nil {
		t.Errorf("%v %v", rules, err)
	}
}

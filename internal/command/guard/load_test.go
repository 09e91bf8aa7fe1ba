package guard

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// TestLoadPolicies: the loader reads the policies that the configuration names, relative to its
// folder. A changed file changes the digest, and an unreadable file is an error.
func TestLoadPolicies(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) { must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)) }
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	der := must.Get(x509.MarshalPKIXPublicKey(&key.PublicKey))(t)
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
		must.That(t, err == nil && rules != nil, "%v %v", rules, err)
		seen = rules.Digest()
		if again, err := load(seen); again != nil || err != nil {
			t.Errorf("nothing has changed: %v %v", again, err)
		}
	}
	write("policies.yaml", "kind: {\n---\nkind: }\n")
	if rules, err := load(seen); rules != nil || err == nil || !strings.Contains(err.Error(), "policies.yaml:1: this file of policies cannot be read") {
		t.Errorf("%v %v", rules, err)
	}
	must.Do(t, os.Remove(filepath.Join(dir, "policies.yaml")))
	rules, err := load(seen)
	expect.That(t, rules == nil && err != nil, "%v %v", rules, err)
}

// TestLoadOtherVersion: a guard rejects a configuration for a newer or an older version as a whole,
// and names its own version. An ignored key could be a restriction.
func TestLoadOtherVersion(t *testing.T) {
	const (
		known = "apiVersion: polex.dev/v1alpha1\nkind: Config\n"
		trust = "trust:\n  authorities: [{name: ci, issuer: https://ci.example, subject: https://ci.example/merge}]\n"
	)
	path := filepath.Join(t.TempDir(), "guard.yaml")
	for name, text := range map[string]string{
		"none":                                                 "",
		`apiVersion is "polex.dev/v1"`:                         "apiVersion: polex.dev/v1\nkind: Config\n" + trust,
		`apiVersion is "polex.dev/v1alpha0"`:                   "apiVersion: polex.dev/v1alpha0\nkind: Config\n" + trust,
		`unknown field "trust.notAfter"`:                       known + trust + "  notAfter: 2027-01-01\n",
		`unknown field "trust.authorities[0].team"`:            known + strings.Replace(trust, "name: ci", "name: ci, team: a", 1),
		`unknown field "guard.quota"`:                          known + trust + "guard: {quota: 1}\n",
		`unknown field "fleet"`:                                known + trust + "fleet: {}\n",
		"trust.threshold: expected a whole number, found text": known + trust + "  threshold: all\n",
	} {
		if text == "" {
			text = known + trust
		}
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		rules, err := loader(path, "polex-system")("")
		if name == "none" {
			expect.That(t, rules != nil && err == nil, "the configuration of this version: %v", err)
			continue
		}
		if want := " (this is polex-guard " + cli.VersionText() + ": correct the configuration, or install the version that it is written for)"; rules != nil ||
			err == nil || !strings.Contains(err.Error(), name) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v %v", name, rules, err)
		}
	}
}

// TestFirstExpiry: the metric covers a CA behind the certificate, which people renew.
func TestFirstExpiry(t *testing.T) {
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	early, late := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
	certificate := func(ends time.Time) []byte {
		template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: ends}
		return must.Get(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))(t)
	}
	for _, chain := range [][][]byte{{certificate(early), certificate(late)}, {certificate(late), certificate(early)}, {certificate(early)}} {
		got := firstExpiry(chain)
		expect.That(t, got.Equal(early), "%s, want %s", got, early)
	}
	got := firstExpiry(nil)
	expect.That(t, got.IsZero(), "no chain: %s", got)
}

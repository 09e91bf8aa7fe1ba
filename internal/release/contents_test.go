package main

import (
	"bytes"
	"crypto/x509"
	"debug/buildinfo"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/module"
)

// TestContents: the licences and the SBOM of a program name every module in it. The SBOM of a
// second run is the same.
func TestContents(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	dir := t.TempDir()
	program := filepath.Join(dir, "polex-validate")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-tags=grpcnotrace", "-trimpath", "-o", program, "./cmd/polex-validate").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	goroot, cache := output("go", "env", "GOROOT"), output("go", "env", "GOMODCACHE")
	text, err := licenses(program, goroot, cache)
	if err != nil {
		t.Fatal(err)
	}
	first, second := sbom(program, "v1.2.3"), sbom(program, "v1.2.3")
	if !bytes.Equal(first, second) {
		t.Error("two SBOMs of a program differ")
	}
	if len(info.Deps) < 10 {
		t.Errorf("%d modules are too few to test with", len(info.Deps))
	}
	for _, m := range info.Deps {
		if !bytes.Contains(first, []byte(`"pkg:golang/`+m.Path+"@"+strings.ReplaceAll(m.Version, "+", "%2B"))) {
			t.Errorf("the SBOM does not have %s %s", m.Path, m.Version)
		}
		if !bytes.Contains(text, []byte("==== "+m.Path+"@"+m.Version+": ")) {
			t.Errorf("the licences do not have %s %s", m.Path, m.Version)
		}
	}
	if !bytes.Contains(first, []byte(`"pkg:golang/std@`)) || !bytes.Contains(text, []byte("The Go Authors")) {
		t.Error("the standard library is missing")
	}
	empty := t.TempDir()
	if _, err := licenses(program, goroot, empty); err == nil {
		t.Error("a module that is not there is accepted")
	}
	one := filepath.Join(empty, filepath.FromSlash(must(module.EscapePath(info.Deps[0].Path)))+"@"+info.Deps[0].Version)
	if err := os.MkdirAll(filepath.Join(one, "license"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := licenses(program, goroot, empty); err == nil || !strings.Contains(err.Error(), "no licence file") {
		t.Errorf("a module without a licence is accepted: %v", err)
	}
}

// TestRoots: the certificates of the images are certificate authorities that have not expired.
func TestRoots(t *testing.T) {
	count := 0
	for rest := roots(); ; count++ {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		if !c.IsCA || c.NotAfter.Before(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)) {
			t.Errorf("%s: authority %v, until %s", c.Subject, c.IsCA, c.NotAfter)
		}
	}
	if count < 100 {
		t.Errorf("there are %d certificates", count)
	}
}

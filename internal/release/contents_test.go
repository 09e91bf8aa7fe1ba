package main

import (
	"bytes"
	"crypto/x509"
	"debug/buildinfo"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
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
	modules, err := modules(platform{runtime.GOOS, runtime.GOARCH})
	if err != nil {
		t.Fatal(err)
	}
	notices, bom, again := filepath.Join(dir, "licenses"), filepath.Join(dir, "bom"), filepath.Join(dir, "again")
	if err := licenses(program, notices, modules); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{bom, again} {
		if err := sbom(program, path, "v1.2.3"); err != nil {
			t.Fatal(err)
		}
	}
	first, second, text := slurp(t, bom), slurp(t, again), slurp(t, notices)
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
	delete(modules, info.Deps[0].Path+"@"+info.Deps[0].Version)
	if err := licenses(program, notices, modules); err == nil {
		t.Error("a module without a licence is accepted")
	}
}

func slurp(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestRoots: the certificates of the images are certificate authorities that have not expired.
func TestRoots(t *testing.T) {
	path := filepath.Join(t.TempDir(), "roots")
	if err := roots(path); err != nil {
		t.Fatal(err)
	}
	count := 0
	for rest := slurp(t, path); ; count++ {
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

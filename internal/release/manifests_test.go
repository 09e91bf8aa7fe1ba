package main

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/semver"
	"sigs.k8s.io/yaml"
)

// published writes the manifests of a release with two commands, and returns their folder and the
// archives.
func published(t *testing.T) (dir string, archives []archive) {
	t.Helper()
	for _, p := range platforms {
		for _, command := range []string{"polex", "polex-verify"} {
			archives = append(archives, archive{command, "v1.2.3", p, sha256.Sum256([]byte(command + p.String()))})
		}
	}
	dir = t.TempDir()
	const chart = "polex-guard-1.2.3.tgz"
	if err := os.WriteFile(filepath.Join(dir, chart), []byte("a chart"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := manifests(dir, "v1.2.3", archives, chart); err != nil {
		t.Fatal(err)
	}
	return dir, archives
}

// TestKrew: the manifest follows the rules of krew's index (ValidatePlugin in krew's package
// internal/index/validation), and has the archive and checksum of polex for each platform.
func TestKrew(t *testing.T) {
	dir, archives := published(t)
	raw, err := os.ReadFile(filepath.Join(dir, "polex.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var p plugin
	if err := yaml.UnmarshalStrict(raw, &p); err != nil {
		t.Fatal(err)
	}
	if p.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || p.Kind != "Plugin" || p.Metadata["name"] != "polex" || !semver.IsValid(p.Spec.Version) {
		t.Errorf("krew rejects its head: %+v", p)
	}
	if short := p.Spec.ShortDescription; short == "" || len(short) > 50 || strings.ContainsAny(short, "\r\n") {
		t.Errorf("krew rejects the short description %q", short)
	}
	if len(p.Spec.Platforms) != len(platforms) {
		t.Errorf("it is for %d platforms, want %d", len(p.Spec.Platforms), len(platforms))
	}
	for _, one := range p.Spec.Platforms {
		system, arch := one.Selector.MatchLabels["os"], one.Selector.MatchLabels["arch"]
		i := slices.IndexFunc(archives, func(a archive) bool { return a.command == "polex" && a.platform == platform{system, arch} })
		if i < 0 || len(one.Selector.MatchLabels) != 2 {
			t.Errorf("there is no archive for %v", one.Selector.MatchLabels)
			continue
		}
		if one.URI != "https://github.com/polex-dev/polex/releases/download/v1.2.3/"+archives[i].name() || one.SHA256 != hex.EncodeToString(archives[i].sha256[:]) {
			t.Errorf("%s/%s is %s with %s", system, arch, one.URI, one.SHA256)
		}
		if one.Bin != archives[i].platform.program("polex") || !slices.Contains(one.Files, pluginFile{one.Bin, "."}) {
			t.Errorf("%s/%s has the program %q, and the files %v", system, arch, one.Bin, one.Files)
		}
	}
}

// TestBrew: the formula is valid Ruby, and has the archive and checksum of polex for each platform
// of Homebrew.
func TestBrew(t *testing.T) {
	dir, archives := published(t)
	path := filepath.Join(dir, "polex.rb")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got := regexp.MustCompile(`url "([^"]+)"\s+sha256 "([0-9a-f]{64})"`).FindAllStringSubmatch(string(raw), -1)
	if len(got) != 4 || strings.Contains(string(raw), "{{") {
		t.Errorf("it has %d archives, want 4:\n%s", len(got), raw)
	}
	for _, a := range archives {
		found := slices.ContainsFunc(got, func(m []string) bool { return m[1] == a.url() && m[2] == hex.EncodeToString(a.sha256[:]) })
		if want := a.command == "polex" && a.platform.os != "windows"; found != want {
			t.Errorf("it has %s: %v", a.name(), found)
		}
	}
	ruby, err := exec.LookPath("ruby")
	if err != nil {
		t.Skip("ruby is not installed, so its syntax is not checked")
	}
	if out, err := exec.CommandContext(t.Context(), ruby, "-c", path).CombinedOutput(); err != nil {
		t.Errorf("it is not Ruby: %v\n%s", err, out)
	}
}

// TestChecksums: sha256sum accepts the checksums of the chart and the manifests, and the archives have lines too.
func TestChecksums(t *testing.T) {
	dir, archives := published(t)
	raw, err := os.ReadFile(filepath.Join(dir, "checksums.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range archives {
		if !strings.Contains(string(raw), hex.EncodeToString(a.sha256[:])+"  "+a.name()+"\n") {
			t.Errorf("%s is missing", a.name())
		}
	}
	check := exec.CommandContext(t.Context(), "sha256sum", "--check", "--ignore-missing", "checksums.txt")
	check.Dir = dir
	if out, err := check.CombinedOutput(); err != nil || string(out) != "polex-guard-1.2.3.tgz: OK\npolex.rb: OK\npolex.yaml: OK\n" {
		t.Errorf("%v: %s", err, out)
	}
}

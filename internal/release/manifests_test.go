package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/semver"
	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// published writes the manifests of a release with two commands, and returns their folder and the archives.
func published(t *testing.T) (dir string, archives []archive) {
	t.Helper()
	dir = t.TempDir()
	polex, sums := map[string]archive{}, map[string]string{}
	for _, p := range platforms {
		for _, command := range []string{"polex", "polex-verify"} {
			a := archive{command: command, version: "v1.2.3", platform: p}
			a.SHA256 = publish(dir, a.name(), []byte(a.name()), sums)
			archives = append(archives, a)
			if command == "polex" {
				polex[p.String()] = a
			}
		}
	}
	manifests(dir, "v1.2.3", polex, sums)
	checksums(dir, sums)
	return dir, archives
}

// plugin is a manifest of krew, v1alpha2. https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/
type plugin struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   map[string]string `json:"metadata"`
	Spec       struct {
		Version          string `json:"version"`
		Homepage         string `json:"homepage"`
		ShortDescription string `json:"shortDescription"`
		Description      string `json:"description"`
		Platforms        []struct {
			Selector struct {
				MatchLabels map[string]string `json:"matchLabels"`
			} `json:"selector"`
			URI    string       `json:"uri"`
			SHA256 string       `json:"sha256"`
			Bin    string       `json:"bin"`
			Files  []pluginFile `json:"files"`
		} `json:"platforms"`
	} `json:"spec"`
}

type pluginFile struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// TestKrew: the manifest follows the rules of krew's index (ValidatePlugin in krew's package
// internal/index/validation), and has the archive and checksum of polex for each platform.
func TestKrew(t *testing.T) {
	dir, archives := published(t)
	raw := must.Get(os.ReadFile(filepath.Join(dir, "polex.yaml")))(t)
	var p plugin
	must.Do(t, yaml.UnmarshalStrict(raw, &p))
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
		if one.URI != "https://github.com/polex-dev/polex/releases/download/v1.2.3/"+archives[i].name() || one.SHA256 != archives[i].SHA256 {
			t.Errorf("%s/%s is %s with %s", system, arch, one.URI, one.SHA256)
		}
		if one.Bin != archives[i].Program() || !slices.Contains(one.Files, pluginFile{one.Bin, "."}) {
			t.Errorf("%s/%s has the program %q, and the files %v", system, arch, one.Bin, one.Files)
		}
	}
}

// TestBrew: the formula is valid Ruby, and has the archive and checksum of polex for each platform of Homebrew.
func TestBrew(t *testing.T) {
	dir, archives := published(t)
	path := filepath.Join(dir, "polex.rb")
	raw := must.Get(os.ReadFile(path))(t)
	got := regexp.MustCompile(`url "([^"]+)"\s+sha256 "([0-9a-f]{64})"`).FindAllStringSubmatch(string(raw), -1)
	if len(got) != 4 || strings.Contains(string(raw), "{{") {
		t.Errorf("it has %d archives, want 4:\n%s", len(got), raw)
	}
	for _, a := range archives {
		found := slices.ContainsFunc(got, func(m []string) bool { return m[1] == a.URL() && m[2] == a.SHA256 })
		expect.Is(t, fmt.Sprintf("it has %s", a.name()), a.command == "polex" && a.OS != "windows", found)
	}
	ruby, err := exec.LookPath("ruby")
	if err != nil {
		t.Skip("ruby is not installed, so its syntax is not checked")
	}
	if out, err := exec.CommandContext(t.Context(), ruby, "-c", path).CombinedOutput(); err != nil {
		t.Errorf("it is not Ruby: %v\n%s", err, out)
	}
}

// TestChecksums: sha256sum accepts the checksums of every published file.
func TestChecksums(t *testing.T) {
	dir, archives := published(t)
	raw := must.Get(os.ReadFile(filepath.Join(dir, "checksums.txt")))(t)
	for _, a := range archives {
		if !strings.Contains(string(raw), a.SHA256+"  "+a.name()+"\n") {
			t.Errorf("%s is missing", a.name())
		}
	}
	check := exec.CommandContext(t.Context(), "sha256sum", "--check", "--strict", "checksums.txt")
	check.Dir = dir
	if out, err := check.CombinedOutput(); err != nil || strings.Count(string(out), ": OK\n") != len(archives)+2 {
		t.Errorf("%v: %s", err, out)
	}
}

// TestManual: the archive has a man page for each program and completions for four shells, and the
// same commit gives the same bytes.
func TestManual(t *testing.T) {
	when := time.Unix(1700000000, 0)
	var texts []string
	for range 2 {
		files := manual(t.TempDir(), "v1.2.3", when)
		var names []string
		var all strings.Builder
		for _, f := range files {
			names = append(names, f.name)
			all.Write(f.data)
		}
		for _, want := range []string{"completions/_polex", "completions/polex.bash", "completions/polex.fish", "completions/polex.ps1",
			"man/polex.1", "man/polex-verify.1", "man/polex-guard-serve.1", "man/polex-adopt.1"} {
			if !slices.Contains(names, want) {
				t.Errorf("%s is missing in %s", want, names)
			}
		}
		texts = append(texts, all.String())
	}
	if texts[0] != texts[1] {
		t.Error("two runs write different manuals")
	}
	if !strings.Contains(texts[0], ".TH \"POLEX") || !strings.Contains(texts[0], "--only-exceptions") {
		t.Error("the manual does not describe polex-verify --only-exceptions")
	}
}

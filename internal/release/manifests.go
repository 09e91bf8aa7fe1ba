package main

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"sigs.k8s.io/yaml"
)

const (
	homepage    = "https://github.com/polex-dev/polex"
	description = "Sign and verify Kyverno PolicyExceptions" // krew accepts up to 50 characters
)

// formula is the formula for Homebrew, with the archives of polex by platform.
//
//go:embed polex.rb.tmpl
var formula string

// manifests writes the manifests of package managers, and the checksums of all published files. chart
// is the archive of the Helm chart, which is in out.
func manifests(out, version string, archives []archive, chart string) error {
	var checksums strings.Builder
	byPlatform := map[string]archive{}
	for _, a := range archives {
		fmt.Fprintf(&checksums, "%x  %s\n", a.sha256, a.name())
		if a.command == "polex" {
			byPlatform[a.platform.String()] = a
		}
	}
	packed, err := os.ReadFile(filepath.Join(out, chart)) // #nosec G304 -- written by this program
	if err != nil {
		return err
	}
	fmt.Fprintf(&checksums, "%x  %s\n", sha256.Sum256(packed), chart)
	brew, err := brew(version, byPlatform)
	if err != nil {
		return err
	}
	krew, err := krew(version, archives)
	if err != nil {
		return err
	}
	for _, file := range []struct {
		name string
		text []byte
	}{{"polex.rb", brew}, {"polex.yaml", krew}} {
		fmt.Fprintf(&checksums, "%x  %s\n", sha256.Sum256(file.text), file.name)
		if err := os.WriteFile(filepath.Join(out, file.name), file.text, 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(out, "checksums.txt"), []byte(checksums.String()), 0o644)
}

// url returns the address of an archive in GitHub's release.
func (a archive) url() string {
	return homepage + "/releases/download/" + a.version + "/" + a.name()
}

// brew returns a formula for Homebrew.
func brew(version string, archives map[string]archive) ([]byte, error) {
	text, err := template.New("polex.rb").Option("missingkey=error").Parse(formula)
	if err != nil {
		return nil, fmt.Errorf("parse formula: %w", err)
	}
	sources := map[string]string{}
	for platform, a := range archives {
		sources[platform] = fmt.Sprintf("url %q\n      sha256 \"%x\"", a.url(), a.sha256)
	}
	var b bytes.Buffer
	if err := text.Execute(&b, map[string]any{
		"Description": description, "Homepage": homepage, "Version": strings.TrimPrefix(version, "v"), "Sources": sources,
	}); err != nil {
		return nil, fmt.Errorf("write formula: %w", err)
	}
	return b.Bytes(), nil
}

// plugin is a manifest of krew, v1alpha2.
// https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/
type plugin struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   map[string]string `json:"metadata"`
	Spec       pluginSpec        `json:"spec"`
}

type pluginSpec struct {
	Version          string           `json:"version"`
	Homepage         string           `json:"homepage"`
	ShortDescription string           `json:"shortDescription"`
	Description      string           `json:"description"`
	Platforms        []pluginPlatform `json:"platforms"`
}

type pluginPlatform struct {
	Selector struct {
		MatchLabels map[string]string `json:"matchLabels"`
	} `json:"selector"`
	URI    string       `json:"uri"`
	SHA256 string       `json:"sha256"`
	Bin    string       `json:"bin"`
	Files  []pluginFile `json:"files"`
}

type pluginFile struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// krew returns the manifest of the kubectl plugin "polex". krew links the program to the name
// kubectl-polex.
func krew(version string, archives []archive) ([]byte, error) {
	manifest := plugin{
		APIVersion: "krew.googlecontainertools.github.com/v1alpha2", Kind: "Plugin", Metadata: map[string]string{"name": "polex"},
		Spec: pluginSpec{
			Version: version, Homepage: homepage, ShortDescription: description,
			Description: "polex drafts, checks, signs and verifies Kyverno PolicyExceptions. In the cluster,\npolex-guard rejects every exception that is unsigned, modified or expired.\n",
		},
	}
	for _, a := range archives {
		if a.command != "polex" {
			continue
		}
		program := a.platform.program(a.command)
		one := pluginPlatform{URI: a.url(), SHA256: fmt.Sprintf("%x", a.sha256), Bin: program}
		one.Selector.MatchLabels = map[string]string{"os": a.platform.os, "arch": a.platform.arch}
		for _, name := range []string{program, "LICENSE", "THIRD-PARTY-LICENSES.txt"} {
			one.Files = append(one.Files, pluginFile{From: name, To: "."})
		}
		manifest.Spec.Platforms = append(manifest.Spec.Platforms, one)
	}
	return yaml.Marshal(manifest)
}

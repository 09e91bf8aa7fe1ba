package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/semver"
)

// chartInGit is the version of the chart in Git. A release replaces it in Chart.yaml.
const chartInGit = "0.0.0"

// chart writes the archive of the Helm chart in a folder to out, and returns its name. A development
// build has no semantic version: its chart keeps that of Git.
func chart(dir, out, version string, when time.Time) (string, error) {
	number := chartInGit
	if semver.IsValid(version) {
		number = strings.TrimPrefix(version, "v")
	}
	text, err := os.ReadFile(filepath.Join(dir, "Chart.yaml")) // #nosec G304 -- a file of this repository
	if err != nil {
		return "", err
	}
	described := filepath.Join(out, "chart", "Chart.yaml")
	if err := os.MkdirAll(filepath.Dir(described), 0o755); err != nil {
		return "", err
	}
	if err := os.WriteFile(described, []byte(strings.ReplaceAll(string(text), chartInGit, number)), 0o644); err != nil { // #nosec G703 -- the folder of the release
		return "", err
	}
	folder := filepath.Base(dir)
	files := []entry{{folder + "/Chart.yaml", described, 0o644}} // Helm reads it first
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Base(path) == "Chart.yaml" {
			return err
		}
		within, err := filepath.Rel(dir, path)
		files = append(files, entry{folder + "/" + filepath.ToSlash(within), path, 0o644})
		return err
	}); err != nil {
		return "", err
	}
	packed, err := pack(files, when, platform{})
	if err != nil {
		return "", err
	}
	name := fmt.Sprintf("%s-%s.tgz", folder, number)
	return name, os.WriteFile(filepath.Join(out, name), packed, 0o644)
}

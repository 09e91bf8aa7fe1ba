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

// chart archives the Helm chart in a folder for a version, and returns the archive and its name. A
// development build has no semantic version: its chart keeps that of Git. out is for changed files.
func chart(dir, out, version string, when time.Time) (packed []byte, name string, err error) {
	number := chartInGit
	if semver.IsValid(version) {
		number = strings.TrimPrefix(version, "v")
	}
	text, err := os.ReadFile(filepath.Join(dir, "Chart.yaml")) // #nosec G304 -- a file of this repository
	if err != nil {
		return nil, "", err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, "", err
	}
	described := filepath.Join(out, "Chart.yaml")
	if err := os.WriteFile(described, []byte(strings.ReplaceAll(string(text), chartInGit, number)), 0o644); err != nil { // #nosec G703 -- the folder of the release
		return nil, "", err
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
		return nil, "", err
	}
	packed, err = pack(files, when)
	return packed, fmt.Sprintf("%s-%s.tgz", folder, number), err
}

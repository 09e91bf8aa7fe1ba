package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/semver"
)

// chartInGit is the version of the chart in Git. A release replaces it in Chart.yaml.
const chartInGit = "0.0.0"

// chart returns the name and the archive of the Helm chart in a folder. A development build has no semantic
// version: its chart keeps that of Git.
func chart(dir, version string, when time.Time) (name string, packed []byte) {
	number := chartInGit
	if semver.IsValid(version) {
		number = strings.TrimPrefix(version, "v")
	}
	folder := filepath.Base(dir)
	files := tree(dir, folder)
	for i, f := range files {
		if f.name == folder+"/Chart.yaml" {
			files[i].data = bytes.ReplaceAll(f.data, []byte(chartInGit), []byte(number))
		}
	}
	return folder + "-" + number + ".tgz", tarball(files, when)
}

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestChart: the archive holds every file of the chart, and Chart.yaml has the version of the
// release everywhere. A development build keeps the version of Git.
func TestChart(t *testing.T) {
	for version, number := range map[string]string{"v1.2.3": "1.2.3", "v1.2.3-rc.1": "1.2.3-rc.1", "1a2b3c4-dirty": chartInGit, "devel": chartInGit} {
		name, packed := chart(filepath.Join("..", "..", "charts", "polex-guard"), version, time.Unix(0, 0))
		if name != "polex-guard-"+number+".tgz" {
			t.Fatalf("%s: %s", version, name)
		}
		files := unpacked(t, packed)
		described := files["polex-guard/Chart.yaml"]
		for _, line := range []string{"\nversion: " + number + "\n", "\nappVersion: " + number + "\n", "image: ghcr.io/polex-dev/polex-guard:v" + number + "\n"} {
			if !strings.Contains(described, line) {
				t.Errorf("%s: Chart.yaml lacks %q", version, line)
			}
		}
		for _, file := range []string{"values.yaml", "values.schema.json", "README.md", "templates/webhook.yaml", "files/guard/protect/cluster.yaml"} {
			if files["polex-guard/"+file] == "" {
				t.Errorf("%s: there is no %s", version, file)
			}
		}
	}
}

// unpacked returns the files of an archive by name.
func unpacked(t *testing.T, packed []byte) map[string]string {
	t.Helper()
	plain, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for r := tar.NewReader(plain); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		text, readErr := io.ReadAll(r)
		if err := errors.Join(err, readErr); err != nil {
			t.Fatal(err)
		}
		files[h.Name] = string(text)
	}
}

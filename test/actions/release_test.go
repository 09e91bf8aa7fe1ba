package actions_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/polex-dev/polex/test/must"
)

// releases serves GitHub's releases on loopback, and some wrong targets of a redirect. It returns
// the variables for a script, and the checksum of the release's checksums.
func releases(t *testing.T) []string {
	t.Helper()
	files := map[string][]byte{"checksums.txt.sigstore.json": []byte("a bundle")}
	var checksums strings.Builder
	for _, platform := range []string{"linux_amd64", "linux_arm64", "darwin_arm64"} {
		for _, command := range []string{"polex-validate", "polex-verify", "polex-prune", "polex-guard"} {
			name, archive := command+"_1.2.3_"+platform+".tar.gz", archived(t, command)
			fmt.Fprintf(&checksums, "%x  %s\n", sha256.Sum256(archive), name)
			if command == "polex-prune" { // not the one that the checksums are of
				archive = archived(t, command, "another")
			}
			if command != "polex-guard" {
				files[name] = archive
			}
		}
	}
	files["checksums.txt"] = []byte(checksums.String())
	mux := http.NewServeMux()
	to := func(from, target string) {
		mux.HandleFunc(from, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, target, http.StatusFound) })
	}
	const folder, assets = "github.com/polex-dev/polex/releases/download/", "release-assets.githubusercontent.com/"
	names := []string{"github.com", "release-assets.githubusercontent.com", "raw.githubusercontent.com", "elsewhere.example"}
	for name, content := range files {
		to(folder+"v1.2.3/"+name, "https://"+assets+name+"?sig=secret")
		mux.HandleFunc(assets+name, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(content) })
	}
	to(folder+"v1.2.4/", "https://elsewhere.example/good")
	to(folder+"v1.2.5/", "https://raw.githubusercontent.com/good")
	to(folder+"v1.2.6/", "https://"+assets+"further")
	to(folder+"v1.2.7/", "http://"+assets+"good")
	to(assets+"further", "https://elsewhere.example/good")
	for _, host := range names[1:] {
		mux.HandleFunc(host+"/good", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(files["checksums.txt"]) })
	}
	return append(play(t, mux, names...), fmt.Sprintf("SHA256=%x", sha256.Sum256(files["checksums.txt"])))
}

// archived returns the archive of a command that prints its name.
func archived(t *testing.T, command string, further ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	compressed := gzip.NewWriter(&b)
	archive := tar.NewWriter(compressed)
	for _, name := range append([]string{"LICENSE", command}, further...) {
		text := "#!/bin/sh\necho " + name + " of a release\n"
		must.Do(t, archive.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text)), Typeflag: tar.TypeReg}))
		must.Get(io.WriteString(archive, text))(t)
	}
	for _, w := range []io.Closer{archive, compressed} {
		must.Do(t, w.Close())
	}
	return b.Bytes()
}

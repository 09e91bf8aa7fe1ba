package actions_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"testing"
)

// releases serves GitHub's releases on loopback, and some wrong targets of a redirect. It returns
// the variables for a script, and the checksum of the only archive.
func releases(t *testing.T) []string {
	t.Helper()
	archive := archived(t)
	mux := http.NewServeMux()
	to := func(from, target string) {
		mux.HandleFunc(from, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, target, http.StatusFound) })
	}
	const folder, assets = "github.com/polex-dev/polex/releases/download/", "release-assets.githubusercontent.com/"
	to(folder+"v1.2.3/polex_1.2.3_linux_amd64.tar.gz", "https://"+assets+"good?sig=secret")
	to(folder+"v1.2.3/polex_1.2.3_linux_arm64.tar.gz", "https://"+assets+"good?sig=secret")
	to(folder+"v1.2.4/", "https://elsewhere.example/good")
	to(folder+"v1.2.5/", "https://raw.githubusercontent.com/good")
	to(folder+"v1.2.6/", "https://"+assets+"further")
	to(folder+"v1.2.7/", "http://"+assets+"good")
	to(assets+"further", "https://elsewhere.example/good")
	names := []string{"github.com", "release-assets.githubusercontent.com", "raw.githubusercontent.com", "elsewhere.example"}
	for _, host := range names[1:] {
		mux.HandleFunc(host+"/good", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(archive) })
	}
	digest := sha256.Sum256(archive)
	return append(play(t, mux, names...), "SHA256="+hex.EncodeToString(digest[:]))
}

// archived returns a release with commands that print their names.
func archived(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	compressed := gzip.NewWriter(&b)
	archive := tar.NewWriter(compressed)
	for _, name := range []string{"LICENSE", "polex-validate", "polex-verify"} {
		text := "#!/bin/sh\necho " + name + " of a release\n"
		if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text)), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(archive, text); err != nil {
			t.Fatal(err)
		}
	}
	for _, w := range []io.Closer{archive, compressed} {
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

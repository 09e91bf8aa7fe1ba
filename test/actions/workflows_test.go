package actions_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// projectRights lists the permissions of each job of the project's workflows. A job that builds cannot
// write, and the job that writes a release does not build.
var projectRights = map[string]map[string]map[string]string{
	"ci.yaml": {
		"lint":        {"contents": "read"},
		"test":        {"contents": "read"},
		"e2e":         {"contents": "read"},
		"govulncheck": {"contents": "read"},
	},
	"release.yaml": {
		"build":            {"contents": "read"},
		"attest":           {"id-token": "write", "attestations": "write"},
		"image":            {"contents": "read", "packages": "write", "id-token": "write", "attestations": "write"},
		"publish":          {"contents": "write"},
		"verify":           {"contents": "read", "attestations": "read", "packages": "read"},
		"verify-elsewhere": {"contents": "read", "attestations": "read"},
	},
}

// triggers lists the events that start each workflow. None of them gives the code of a pull request
// the rights of this repository.
var triggers = map[string][]string{"ci.yaml": {"pull_request", "push", "schedule"}, "release.yaml": {"push"}}

// own matches the actions that the workflows use: GitHub's, and setup of this repository.
var own = regexp.MustCompile(`^(\./actions/setup|actions/(checkout|setup-go|upload-artifact|download-artifact|attest-build-provenance)@[0-9a-f]{40})$`)

// TestWorkflowRights: no job has more permissions than it needs, and no credentials stay on the disk. Each action is
// pinned. The job that publishes uses nothing of the repository, and a release is not built from a cache.
func TestWorkflowRights(t *testing.T) {
	files := must.Get(os.ReadDir("../../.github/workflows"))(t)
	expect.That(t, len(files) == len(projectRights),
		"there are %d workflows, and the rights of %d", len(files), len(projectRights))
	for file, jobs := range projectRights {
		w := parsed[workflow](t, "../../.github/workflows/"+file)
		expect.Equal(t, file+" starts on", triggers[file], slices.Sorted(maps.Keys(w.On)))
		hasRights(t, file, w, jobs)
		for name, j := range w.Jobs {
			for i, step := range j.Steps {
				expect.That(t, step.Run != "" || own.MatchString(step.Uses),
					"%s: %s, step %d runs %q", file, name, i, step.Uses)
				if strings.HasPrefix(step.Uses, "actions/checkout@") && (step.With["persist-credentials"] != false || name == "publish") {
					t.Errorf("%s: %s has the repository, or the right to write to it, on its disk", file, name)
				}
				if cached, said := step.With["cache"]; file == "release.yaml" && strings.HasPrefix(step.Uses, "actions/setup-go@") && (!said || cached != false) {
					t.Errorf("%s builds from a cache that another run has filled", name)
				}
				expect.That(t, !strings.Contains(step.Run, "${{"),
					"%s: %s, step %d is put together from what others say", file, name, i)
			}
		}
	}
}

// TestReleaseNames: the release has the names that the actions expect.
func TestReleaseNames(t *testing.T) {
	script := must.Get(os.ReadFile("../../actions/scripts/release.sh"))(t)
	if _, err := os.Stat("../../.github/workflows/release.yaml"); err != nil || !strings.Contains(string(script), "/.github/workflows/release.yaml@refs/tags/$version") {
		t.Errorf("the actions ask for the provenance of another workflow: %v", err)
	}
	build := must.Get(os.ReadFile("../../internal/release/main.go"))(t)
	if !strings.Contains(string(script), `${command}_${version#v}_$platform.tar.gz`) || !strings.Contains(string(build), `"%s_%s_%s%s"`) {
		t.Error("the actions look for another archive than is built")
	}
}

// TestReleaseImage: the image with packages starts from one that is pinned by its digest.
func TestReleaseImage(t *testing.T) {
	raw := must.Get(os.ReadFile("../../Dockerfile"))(t)
	if !regexp.MustCompile(`(?m)^ARG BASE=docker\.io/library/debian:[0-9]+-slim@sha256:[0-9a-f]{64}$`).Match(raw) {
		t.Error("its base is not Debian, pinned by digest")
	}
	stages := strings.Split(string(raw), "\nFROM ")[1:]
	for _, stage := range stages {
		from, content, _ := strings.Cut(stage, "\n")
		base, name, _ := strings.Cut(from, " AS ")
		want := map[bool]string{true: "${BASE}", false: "scratch"}[name == "polex"]
		expect.That(t, base == want, "%s is made from %s, want %s", name, base, want)
		expect.That(t, strings.Contains(content, "\nUSER 65532:65532\n") && !strings.Contains(content, "\nADD "),
			"%s runs as another user, or has files from elsewhere", name)
		expect.That(t, name == "polex" || !strings.Contains(content, "RUN "),
			"%s runs something while it is built", name)
	}
	expect.That(t, len(stages) == 3, "there are %d images", len(stages))
}

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
		must.Do(t, archive.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text)),
			Typeflag: tar.TypeReg}))
		must.Get(io.WriteString(archive, text))(t)
	}
	for _, w := range []io.Closer{archive, compressed} {
		must.Do(t, w.Close())
	}
	return b.Bytes()
}

// play starts a server on loopback under names of the Internet, for programs that accept no other
// addresses. It returns the variables for curl: a proxy that connects to this server only, and the
// file with the certificate authority of the names.
func play(t *testing.T, handler http.Handler, names ...string) []string {
	t.Helper()
	certificate, authority := certified(t, names)
	authorities := filepath.Join(t.TempDir(), "authorities.pem")
	must.Do(t, os.WriteFile(authorities, authority, 0o600))
	server := httptest.NewUnstartedServer(handler)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	proxy := httptest.NewServer(tunnel(server.Listener.Addr().String()))
	t.Cleanup(proxy.Close)
	return []string{"HTTPS_PROXY=" + proxy.URL, "CURL_CA_BUNDLE=" + authorities}
}

// tunnel is a proxy that always connects to one address.
func tunnel(address string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			http.Error(w, "there is no way without TLS", http.StatusForbidden)
			return
		}
		there, err := net.Dial("tcp", address)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		here, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			_ = there.Close()
			return
		}
		// The client must not send anything before this answer.
		_, _ = io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n")
		go func() {
			_, _ = io.Copy(there, buffered) // either side may close first
			_ = there.Close()
		}()
		go func() {
			_, _ = io.Copy(here, there)
			_ = here.Close()
		}()
	}
}

// certified returns a certificate for names, and its certificate authority in PEM.
func certified(t *testing.T, names []string) (tls.Certificate, []byte) {
	t.Helper()
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	now := time.Now()
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "hosts of a test"}, DNSNames: names,
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der := must.Get(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))(t)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

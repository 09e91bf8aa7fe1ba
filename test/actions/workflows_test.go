package actions_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
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
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/internal/forge/githubtest"
	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
	"github.com/polex-dev/polex/test/programs"
	"github.com/polex-dev/polex/test/scripttest"
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

// TestScripts runs the actions' scripts as a runner does, in new repositories.
func TestScripts(t *testing.T) {
	actions := must.Get(filepath.Abs("../../actions"))(t)
	given := append(releases(t), "BUILT="+built(t), "ACTIONS="+actions, "EXAMPLES="+filepath.Join(filepath.Dir(actions), "examples"))
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOFLAGS", "GOPROXY"} {
		out := must.Get(exec.Command("go", "env", name).Output())(t)
		given = append(given, name+"="+strings.TrimSpace(string(out)))
	}
	s := must.Get(sandbox.Start(t.Context(), sandbox.Options{Dir: t.TempDir(), RekorVersions: []int{1}}))(t)
	t.Cleanup(func() { _ = s.Close() }) // the folder and its content are removed
	given = append(given, "CONFIG="+s.ConfigPath, "ROOT="+s.TrustedRootPath, "TOKEN_URL="+s.TokenRequestURL, "TOKEN_BEARER="+s.TokenRequestToken)
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			env.Vars = append(env.Vars, given...)
			env.Setenv("PATH", os.Getenv("PATH"))
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("GIT_CONFIG_NOSYSTEM", "1")
			env.Values[scripttest.ForgeKey{}] = new(*githubtest.Server)
			env.Setenv("POLEX_SOURCE", "source") // this commit can be of a release
			env.Setenv("RUNNER_TEMP", env.Getenv("TMPDIR"))
			env.Setenv("GITHUB_STEP_SUMMARY", filepath.Join(env.WorkDir, "summary.md"))
			env.Setenv("GITHUB_OUTPUT", filepath.Join(env.WorkDir, "output"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": scripttest.Exits, "revision": scripttest.Takes("revision variable ref", revision), "outputs": outputs, "gitlab": scripttest.Takes("gitlab status job", gitlab), "checks": checks, "token": scripttest.Takes("token file variable", token),
			"forge": scripttest.Forge, "pulls": scripttest.Pulls},
	})
}

// built returns a folder with the built commands, for scripts that do not test the build.
func built(t *testing.T) string {
	t.Helper()
	return must.Get(programs.Build("../.."))(t)
}

// revision VARIABLE REF sets a variable to the commit of a ref.
func revision(ts *testscript.TestScript, args []string) {
	ts.Check(ts.Exec("git", "rev-parse", args[1]))
	ts.Setenv(args[0], ts.ReadFile("stdout")[:40])
}

// outputs NAME=VALUE... checks that exactly these outputs were set. It parses them as a runner does: the value is
// between two delimiter lines from the script. A space in a value means a line break. It removes the outputs.
func outputs(ts *testscript.TestScript, _ bool, args []string) {
	file := ts.Getenv("GITHUB_OUTPUT")
	raw, err := os.ReadFile(file)
	ts.Check(err)
	ts.Check(os.Remove(file))
	got := map[string]string{}
	for lines := strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n"); len(lines) > 0; {
		name, delimiter, ok := strings.Cut(lines[0], "<<")
		if !ok {
			ts.Fatalf("no output begins with %q", lines[0])
		}
		var value []string
		for lines = lines[1:]; len(lines) > 0 && lines[0] != delimiter; lines = lines[1:] {
			value = append(value, lines[0])
		}
		if len(lines) == 0 {
			ts.Fatalf("the output %s has no end", name)
		}
		lines = lines[1:]
		got[name] = strings.Join(value, " ")
	}
	for _, arg := range args {
		name, want, _ := strings.Cut(arg, "=")
		if value, set := got[name]; !set || value != want {
			ts.Fatalf("the output %s is %q, not %q", name, value, want)
		}
		delete(got, name)
	}
	for name := range got {
		ts.Fatalf("the output %s was not expected", name)
	}
}

// checks green|red SITUATION makes a repository with a change, by situation.sh, and runs the checks of
// both templates on it: the actions as GitHub runs them for a pull request, and GitLab's job check.
// They are green, or at least one of each template is red.
func checks(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 || args[0] != "green" && args[0] != "red" {
		ts.Fatalf("usage: checks green|red situation")
	}
	dir := ts.MkAbs(filepath.Join("situations", args[1]))
	ts.Check(ts.Exec("bash", ts.MkAbs("situation.sh"), args[1], dir))
	bash := func(folder, script string) bool {
		err := ts.Exec("bash", "-c", "cd "+filepath.Join(dir, folder)+" && "+script)
		return err == nil
	}
	const event = "export GITHUB_EVENT_NAME=pull_request GITHUB_SHA=$(git rev-parse HEAD) INPUT_REF=HEAD INPUT_CONFIG=.polex.yaml; "
	validate, verify := bash("github", event+"INPUT_PATHS= $ACTIONS/validate/validate.sh"), bash("github", event+"INPUT_ANY_TIME=true $ACTIONS/verify/verify.sh")
	if (validate && verify) != (args[0] == "green") {
		ts.Fatalf("on GitHub, validate passes: %v, and verify passes: %v", validate, verify)
	}
	if check := bash("gitlab", "set -e; "+jobScript(ts, "check")); check != (args[0] == "green") {
		ts.Fatalf("on GitLab, check passes: %v", check)
	}
}

// gitlab STATUS JOB runs the script of a job in examples/gitlab in a shell, as a runner does,
// without installing anything first.
func gitlab(ts *testscript.TestScript, args []string) {
	scripttest.Exits(ts, false, []string{args[0], "sh", "-e", "-c", jobScript(ts, args[1])})
}

// jobScript returns the script of a job in examples/gitlab.
func jobScript(ts *testscript.TestScript, job string) string {
	raw, err := os.ReadFile(ts.Getenv("EXAMPLES") + "/gitlab/.gitlab-ci.yml")
	ts.Check(err)
	var jobs map[string]struct{ Script []string }
	file := map[string]any{}
	ts.Check(yaml.Unmarshal(raw, &file))
	delete(file, "stages") // the other keys are jobs
	rest, err := yaml.Marshal(file)
	ts.Check(err)
	ts.Check(yaml.Unmarshal(rest, &jobs))
	script := jobs[job].Script
	if len(script) == 0 {
		ts.Fatalf("there is no job %s with a script", job)
	}
	return strings.Join(script, "\n")
}

// token FILE VARIABLE writes a token of the trusted identity to the file that a GitLab job reads. A person can keep it.
func token(ts *testscript.TestScript, args []string) {
	jwt, err := sandbox.RequestToken(context.Background(), filepath.Dir(ts.Getenv("CONFIG")), sandbox.Identity{}, "sigstore")
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(jwt), 0o600))
	ts.Setenv(args[1], jwt)
}

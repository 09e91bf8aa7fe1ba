//go:build e2e

package sign_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/sign"
	"github.com/polex-dev/polex/internal/command/verify"
	"github.com/polex-dev/polex/internal/forge/githubtest"
	"github.com/polex-dev/polex/internal/retry"
	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// waitsVariable makes the test binary polex-sign with shorter times. It names the file for the waits between tries.
const waitsVariable = "POLEX_TEST_WAITS"

// faster divides every timeout and every wait.
const faster = 20

// The limits of docs/troubleshooting.md.
const (
	requestLimit = 30 * time.Second // of each request
	remoteLimit  = 3 * time.Minute  // of each command of git, with its tries
	// runLimit is the longest delay of a run by an outage. The jobs of the template have 15 minutes.
	runLimit = 8 * time.Minute
	// requestsLimit is the most requests that a run sends to a service that is away.
	requestsLimit = 16
)

func TestMain(m *testing.M) {
	if waits := os.Getenv(waitsVariable); waits != "" {
		os.Exit(cli.Run(context.Background(), sign.New, os.Args[1:], cli.Streams{In: strings.NewReader(""), Out: os.Stdout, Err: os.Stderr, Now: time.Now,
			Timing: retry.Timing{Answer: requestLimit / faster, Sleep: func(ctx context.Context, d time.Duration) error {
				began := time.Now()
				select {
				case <-time.After(d / faster):
				case <-ctx.Done():
					d = min(d, faster*time.Since(began)) // a busy machine is late
				}
				return errors.Join(appendTo(waits, d.String()+"\n"), ctx.Err())
			}}}))
	}
	log.SetOutput(io.Discard)
	flag.Parse()
	_ = flag.Set("test.parallel", "16") // these tests wait for timeouts
	os.Exit(m.Run())
}

func appendTo(name, text string) error {
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// The services that a promotion asks, as in docs/troubleshooting.md.
const (
	tokenService = "OIDC token service"
	fulcio       = "Fulcio"
	ctLog        = "CT log"
	timestamps   = "timestamp authority"
	rekor        = "Rekor"
	gitHub       = "GitHub" // its API and its Git server
)

// step is the n-th request of its kind to a service, from 1.
type step struct {
	service, request string
	n                int
}

func (s step) String() string { return fmt.Sprintf("%s: %s (%d)", s.service, s.request, s.n) }

// outage is what happens to a service from a step on.
type outage struct {
	name string
	// answer handles a request during the outage. nil means that nobody listens any more.
	answer func(w http.ResponseWriter, r *http.Request)
	// lost carries the request of the step out, and sends no answer.
	lost bool
	// once ends the outage with the request of the step. The run then succeeds.
	once bool
	// hangs means that a request ends by its timeout.
	hangs bool
}

func unavailable(retryAfter string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		http.Error(w, "down for maintenance", http.StatusServiceUnavailable)
	}
}

var outages = []outage{
	{name: "refuses connections"},
	{name: "503", answer: unavailable("")},
	{name: "503, later", answer: unavailable("60")},
	{name: "503, in an hour", answer: unavailable("3600")},
	{name: "hangs", hangs: true, answer: func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // then the server notices that the client closes the connection
		<-r.Context().Done()
	}},
	{name: "answers 503 once", answer: unavailable(""), once: true},
	{name: "loses the answer", lost: true, once: true},
	{name: "loses the answer and refuses connections", lost: true},
}

// front is the address of a service.
type front struct {
	world   *world
	service string
	address string
	handler http.Handler

	server  *httptest.Server
	mu      sync.Mutex
	refuses bool // nobody listens at the address
}

// listen serves the front at a new address.
func (f *front) listen() {
	f.server = httptest.NewServer(f)
	f.address = f.server.Listener.Addr().String()
	f.world.t.Cleanup(f.server.Close)
}

func (f *front) url() string { return "http://" + f.address }

// refuse ends every connection, and keeps the port without listening on it: another server could take a free one.
func (f *front) refuse() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refuses {
		return
	}
	f.refuses = true
	_ = f.server.Listener.Close()
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err == nil {
		f.world.t.Cleanup(func() { _ = syscall.Close(socket) })
		err = syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
		var bound error
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		port := f.server.Listener.Addr().(*net.TCPAddr).Port
		for try := 0; err == nil && try < 1000; try++ { // a process that this one has just forked holds the listener until it runs its program
			if bound = syscall.Bind(socket, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}); !errors.Is(bound, syscall.EADDRINUSE) {
				break
			}
			<-tick.C
		}
		err = errors.Join(err, bound)
	}
	expect.That(f.world.t, err == nil, "%v", err)
	go f.server.CloseClientConnections()
}

// restore ends the outage.
func (f *front) restore() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refuses {
		f.refuses = false
		f.listen()
	}
}

// kind names a request without names and hashes that differ in each run.
func kind(r *http.Request) string {
	path := r.URL.Path
	for _, part := range []string{"/git/refs/heads/polex/commit-", "/git/ref/heads/polex/commit-", "/git/ref/heads/polex/signed-", "/compare/", "/commits/"} {
		if before, _, found := strings.Cut(path, part); found {
			path = before + part + "…"
		}
	}
	if service := r.URL.Query().Get("service"); service != "" {
		path += "?" + service
	}
	return r.Method + " " + path
}

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o, strikes := f.world.request(f.service, kind(r))
	switch {
	case o == nil:
		f.handler.ServeHTTP(w, r)
		return
	case strikes && o.lost:
		f.handler.ServeHTTP(httptest.NewRecorder(), r)
	case o.answer != nil:
		o.answer(w, r)
		if !o.hangs {
			return
		}
	}
	if o.answer == nil && !o.once && f.service != ctLog {
		f.refuse()
	}
	if connection, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = connection.Close()
	}
}

// world is a clone with its remote on GitHub, and a Sigstore. Each service can be away.
type world struct {
	t      *testing.T
	box    *sandbox.Sandbox
	fronts map[string]*front
	api    *githubtest.Server
	mode   mode
	dir    string // of remote.git and clone
	base   int    // commits on main before the promotion

	mu     sync.Mutex
	asked  []step // requests of the present run
	strike step
	outage *outage
	struck int // requests that met the outage
}

// request records a request, and returns the outage that it meets, if any. strikes means that it is the first one.
func (w *world) request(service, request string) (o *outage, strikes bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := step{service, request, 1}
	for _, before := range w.asked {
		if before.service == service && before.request == request {
			s.n++
		}
	}
	w.asked = append(w.asked, s)
	strikes = w.struck == 0 && s == w.strike
	if w.outage == nil || !strikes && (w.struck == 0 || w.strike.service != service || w.outage.once) {
		return nil, false
	}
	w.struck++
	return w.outage, strikes
}

// mode is a way to promote.
type mode struct {
	name  string
	args  []string
	rules []string
	// first are the arguments of an earlier job without an outage.
	first []string
	// proposes means that a pull request is the result.
	proposes bool
	version  string // of Rekor
}

var modes = []mode{
	{name: "push by git, Rekor 1", args: []string{"--push"}, version: "1"},
	{name: "push by git, Rekor 2", args: []string{"--push"}, version: "2"},
	{name: "push by GitHub", args: []string{"--push", "--push-by", "github"}, rules: []string{"required_signatures"}, version: "2"},
	{name: "pull request", args: []string{"--pull-request", "--push-by", "github"}, rules: []string{"required_signatures", "pull_request"}, proposes: true, version: "2"},
	{name: "two jobs", first: []string{"--signed-output", "../promotion"}, args: []string{"--signed-input", "../promotion", "--push"}, version: "2"},
}

func newWorld(t *testing.T, m mode) *world {
	t.Helper()
	w := &world{t: t, mode: m, dir: t.TempDir(), fronts: map[string]*front{}}
	serve := func(service string, handler http.Handler) *front {
		f := &front{world: w, service: service, handler: handler}
		if service != ctLog {
			f.listen()
		}
		w.fronts[service] = f
		return f
	}
	var err error
	w.box, err = sandbox.Start(t.Context(), sandbox.Options{Dir: filepath.Join(w.dir, "sigstore"), Intercept: func(server string, next http.Handler) http.Handler {
		if server != sandbox.ServerCTLog {
			return next
		}
		return serve(ctLog, next)
	}})
	must.Do(w.t, err)
	t.Cleanup(func() { _ = w.box.Close() })
	logURL := w.box.RekorURL
	if m.version == "2" {
		logURL = w.box.RekorV2URL
	}
	for service, address := range map[string]string{tokenService: w.box.TokenRequestURL, fulcio: w.box.FulcioURL, timestamps: w.box.TimestampURL, rekor: logURL} {
		u := must.Get(url.Parse(address))(w.t)
		serve(service, httputil.NewSingleHostReverseProxy(&url.URL{Scheme: u.Scheme, Host: u.Host}))
	}
	w.repository(serve)
	return w
}

// repository makes the remote, with three pending exceptions on main, and the clone.
func (w *world) repository(serve func(string, http.Handler) *front) {
	w.git("init", "--quiet", "--bare", "--initial-branch=main", "remote.git")
	w.git("-C", "remote.git", "config", "http.receivepack", "true")
	w.api = must.Get(githubtest.New(filepath.Join(w.dir, "remote.git")))(w.t)
	w.t.Cleanup(w.api.Close)
	backend := must.Get(exec.Command("git", "--exec-path").Output())(w.t)
	mux := http.NewServeMux()
	mux.Handle("/git/", &cgi.Handler{Path: filepath.Join(strings.TrimSpace(string(backend)), "git-http-backend"), Root: "/git", Stderr: io.Discard,
		Env: []string{"GIT_PROJECT_ROOT=" + w.dir, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_GLOBAL=" + w.path("gitconfig"), "GIT_CONFIG_NOSYSTEM=1"}})
	// The reviews of each pending exception.
	mux.HandleFunc("GET /repos/"+githubtest.Repository+"/commits/{sha}/pulls", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "[]") })
	mux.Handle("/", w.api.Config.Handler)
	must.Do(w.t, os.WriteFile(w.path("gitconfig"),
		[]byte("[user]\nname = Workflow\nemail = workflow@example.com\n[safe]\ndirectory = *\n"), 0o600))
	serve(gitHub, mux)
	w.git("clone", "--quiet", "remote.git", "clone")
	w.commit("README.md", "# Exceptions\n", "Begin")
	first := strings.TrimSpace(w.git("-C", "clone", "rev-parse", "HEAD"))
	for _, name := range []string{"one", "two", "three"} {
		w.write("unsigned/"+name+".yaml", fmt.Sprintf(request, name))
	}
	w.commit("README.md", "# The exceptions\n", "Ask for three")
	w.base = 2
	must.Do(w.t, w.api.SetRules(w.mode.rules...))
	if w.mode.proposes { // an older one, to close
		w.api.AddPull(githubtest.Repository, "polex/signed-"+first[:12], "main")
	}
}

const request = `apiVersion: kyverno.io/v2
kind: PolicyException
metadata:
  name: %[1]s
  namespace: platform
  annotations: {polex.dev/expires-in: 2w, polex.dev/reason: "until it is fixed"}
spec:
  match:
    any:
    - resources: {kinds: [Pod], namespaces: [data], names: [%[1]s]}
  exceptions:
  - policyName: require-run-as-nonroot
    ruleNames: [run-as-non-root]
`

func (w *world) path(name string) string { return filepath.Join(w.dir, filepath.FromSlash(name)) }

func (w *world) environment() []string {
	return append(os.Environ(), "HOME="+w.dir, "GIT_CONFIG_GLOBAL="+w.path("gitconfig"), "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C")
}

func (w *world) git(args ...string) string {
	w.t.Helper()
	c := exec.Command("git", args...)
	c.Dir, c.Env = w.dir, w.environment()
	return must.Run(w.t, c)
}

func (w *world) write(name, content string) {
	w.t.Helper()
	must.Do(w.t, os.MkdirAll(filepath.Dir(w.path("clone/"+name)), 0o755))
	must.Do(w.t, os.WriteFile(w.path("clone/"+name), []byte(content), 0o644))
}

// commit writes a file, and pushes everything.
func (w *world) commit(name, content, message string) {
	w.t.Helper()
	w.write(name, content)
	w.git("-C", "clone", "add", "--all")
	w.git("-C", "clone", "commit", "--quiet", "--message", message)
	w.git("-C", "clone", "push", "--quiet", "--set-upstream", "origin", "HEAD")
}

// ran is the end of a run of polex-sign.
type ran struct {
	status int
	said   string
	asked  []step
	struck int           // requests that met the outage
	waited time.Duration // between tries
}

// promote runs polex-sign promote, with an outage from a step on.
func (w *world) promote(args []string, at step, o *outage) ran {
	w.t.Helper()
	for _, f := range w.fronts {
		f.restore()
	}
	w.mu.Lock()
	w.asked, w.strike, w.outage, w.struck = nil, at, o, 0
	w.mu.Unlock()
	at1 := func(service, address string) string {
		u := must.Get(url.Parse(address))(w.t)
		u.Host = w.fronts[service].address
		return u.String()
	}
	w.git("-C", "clone", "remote", "set-url", "origin", w.fronts[gitHub].url()+"/git/remote.git")
	config := w.box.ConfigPath
	if w.mode.version == "2" {
		config = w.box.ConfigV2Path
	}
	c := exec.Command(os.Args[0], append([]string{"promote", "--config", config, "--fulcio-url", w.fronts[fulcio].url(), "--rekor-url", w.fronts[rekor].url()},
		args...)...)
	if w.mode.version == "2" {
		c.Args = append(c.Args, "--timestamp-server-url", at1(timestamps, w.box.TimestampURL))
	}
	waits := w.path("waits")
	must.Do(w.t, os.WriteFile(waits, nil, 0o600))
	var said bytes.Buffer
	c.Dir, c.Stdout, c.Stderr = w.path("clone"), &said, &said
	c.Env = append(w.environment(), waitsVariable+"="+waits, "GITHUB_ACTIONS=true", "GITHUB_REF=refs/heads/main", "GITHUB_API_URL="+w.fronts[gitHub].url(), "GITHUB_SERVER_URL=https://github.com",
		"GITHUB_REPOSITORY="+githubtest.Repository, "GITHUB_TOKEN="+githubtest.Token,
		"ACTIONS_ID_TOKEN_REQUEST_URL="+at1(tokenService, w.box.TokenRequestURL), "ACTIONS_ID_TOKEN_REQUEST_TOKEN="+w.box.TokenRequestToken)
	err := c.Run()
	var exit *exec.ExitError
	must.That(w.t, err == nil || errors.As(err, &exit), "%v", err)
	w.mu.Lock()
	defer w.mu.Unlock()
	r := ran{status: c.ProcessState.ExitCode(), said: said.String(), asked: w.asked, struck: w.struck}
	recorded := must.Get(os.ReadFile(waits))(w.t)
	for _, line := range strings.Fields(string(recorded)) {
		d := must.Get(time.ParseDuration(line))(w.t)
		r.waited += d
	}
	return r
}

// target is the branch that a promotion is to be on.
func (w *world) target() string {
	if !w.mode.proposes {
		return "main"
	}
	return strings.TrimSpace(w.git("-C", "remote.git", "for-each-ref", "--format=%(refname:short)", "refs/heads/polex/signed-*"))
}

// promoted checks that the target branch has the whole promotion, in one commit with one signature
// for each exception, or nothing of it. It returns which.
func (w *world) promoted() bool {
	w.t.Helper()
	branch := w.target()
	if branch == "" || strings.TrimSpace(w.git("-C", "remote.git", "rev-list", "--count", branch)) == fmt.Sprint(w.base) {
		if files := w.git("-C", "remote.git", "ls-tree", "-r", "--name-only", "main"); files != "README.md\nunsigned/one.yaml\nunsigned/three.yaml\nunsigned/two.yaml\n" {
			w.t.Errorf("main has\n%s", files)
		}
		return false
	}
	expect.Is(w.t, branch,
		fmt.Sprint(w.base+1), strings.TrimSpace(w.git("-C", "remote.git", "rev-list", "--count", branch)))
	if files := w.git("-C", "remote.git", "ls-tree", "-r", "--name-only", branch); files != "README.md\nsigned/one.yaml\nsigned/three.yaml\nsigned/two.yaml\n" {
		w.t.Errorf("%s has\n%s", branch, files)
	}
	dir := w.t.TempDir()
	for _, name := range []string{"one", "two", "three"} {
		text := w.git("-C", "remote.git", "show", branch+":signed/"+name+".yaml")
		doc := must.Get(exception.Parse([]byte(text), name+".yaml"))(w.t)
		signed := must.Get(seal.Read(doc))(w.t)
		expect.That(w.t, len(signed.Signatures) == 1, "%s has %d signatures", name, len(signed.Signatures))
		must.Do(w.t, os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(text), 0o600))
	}
	var said bytes.Buffer
	if status := cli.Run(w.t.Context(), verify.New, []string{"--config", w.box.ConfigPath, dir}, cli.Streams{In: strings.NewReader(""), Out: &said, Err: &said, Now: time.Now}); status != 0 {
		w.t.Errorf("polex-verify exits %d:\n%s", status, said.String())
	}
	return true
}

// signs reports whether a run asked for a signature.
func (r ran) signs() bool {
	return slices.ContainsFunc(r.asked, func(s step) bool { return s.service != gitHub })
}

// all runs every outage at every step of every mode. The default leaves out what differs in nothing from another one.
var all = flag.Bool("all", false, "run every outage at every step")

// runs reports whether the test needs an outage at the i-th step of the n-th mode.
func runs(n, i int, at step, o *outage) bool {
	sigstore, git := at.service != gitHub, strings.HasSuffix(at.request, "git-upload-pack")
	writes := !strings.HasPrefix(at.request, "GET ") && !git
	switch {
	case *all:
		return true
	case o.lost && !writes, o.once && !o.lost && writes, strings.HasPrefix(o.name, "503") && o.name != outages[1+i%3].name,
		sigstore && at.n == 2, // the first and the third of three exceptions
		git && n > 0 && strings.HasPrefix(at.request, "POST "):
		return false
	case modes[n].proposes:
		return strings.Contains(at.request, "/pulls") && !strings.Contains(at.request, "/commits/") || strings.Contains(at.request, "/compare/") ||
			strings.HasSuffix(at.request, "/git/refs") && at.n == 2
	case modes[n].first != nil:
		return strings.HasSuffix(at.request, "git-receive-pack")
	case modes[n].version == "2" && modes[n].rules == nil:
		return at.service == timestamps || at.service == rekor
	}
	return n == 0 || !sigstore
}

// TestOutages: each service is away from each request of a promotion on, in each way. The run ends within its limits,
// loses nothing and signs nothing partly. When the service answers again, the next run completes the promotion. Nothing
// is on the branch twice, and nothing that is there is signed again.
func TestOutages(t *testing.T) {
	for n, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			healthy := newWorld(t, m) // alone: a busy machine would repeat requests
			if m.first != nil {
				healthy.promote(m.first, step{}, nil)
			}
			r := healthy.promote(m.args, step{}, nil)
			must.That(t, r.status == 0 && healthy.promoted(), "without an outage, it exits %d:\n%s", r.status, r.said)
			t.Parallel()
			longest := &worst{}
			t.Cleanup(func() {
				t.Logf("%d outages; the longest delay: %s (%s); the most requests: %d (%s)", longest.outages, longest.delay, longest.delayed, longest.requests, longest.asked)
			})
			for i, s := range r.asked {
				for _, o := range outages {
					if !runs(n, i, s, &o) {
						continue
					}
					t.Run(strings.ReplaceAll(s.String(), "/", ".")+" "+o.name, func(t *testing.T) {
						t.Parallel()
						newWorld(t, m).meets(s, &o, longest)
					})
				}
			}
		})
	}
}

// messages are parts of the errors while a service is away.
var messages = map[string][]string{
	tokenService: {"identity token of GitHub Actions:"},
	fulcio:       {"certificate from http"},
	ctLog:        {"certificate from http"},
	timestamps:   {": timestamp authority http"},
	rekor:        {": log http"},
	gitHub:       {"GET http", "POST http", "PATCH http", `remote "http`},
}

// TestRunbook: the runbook has the messages and the limits of this test.
func TestRunbook(t *testing.T) {
	raw := must.Get(os.ReadFile("../../../docs/troubleshooting.md"))(t)
	_, text, _ := strings.Cut(string(raw), "\n## Outages of Sigstore, GitHub or GitLab\n")
	text, _, _ = strings.Cut(text, "\n## ")
	for service, found := range messages {
		_, row, _ := strings.Cut(text, "\n| "+service+" | ")
		row, _, _ = strings.Cut(row, "\n")
		if !slices.ContainsFunc(found, func(message string) bool { return strings.Contains(row, "`"+message) }) {
			t.Errorf("%s: no message of %q in %q", service, found, row)
		}
	}
	for _, limit := range []string{fmt.Sprintf("%.0f seconds for each answer", requestLimit.Seconds()), fmt.Sprintf("%.0f minutes for all of them", remoteLimit.Minutes()),
		fmt.Sprintf("delays it by %.0f minutes at most", runLimit.Minutes())} {
		expect.Contains(t, strings.Join(strings.Fields(text), " "), limit)
	}
	expect.Is(t, "limit of a Git command", remoteLimit, (retry.Timing{}).Limit())
}

// worst are the figures of the outages of a mode.
type worst struct {
	mu             sync.Mutex
	outages        int
	delay          time.Duration
	requests       int // that met an outage
	delayed, asked string
}

func (w *worst) add(name string, delay time.Duration, requests int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.outages++
	if delay > w.delay {
		w.delay, w.delayed = delay, name
	}
	if requests > w.requests {
		w.requests, w.asked = requests, name
	}
}

func (w *world) meets(at step, o *outage, figures *worst) {
	if w.mode.first != nil {
		w.promote(w.mode.first, step{}, nil)
	}
	head := w.git("-C", "clone", "rev-parse", "HEAD")
	r := w.promote(w.mode.args, at, o)
	away := w.fronts[at.service].address
	must.That(w.t, r.struck != 0, "no request met the outage: %v", r.asked)
	landed := w.promoted()
	w.t.Logf("status %d, landed %t, %d requests, delay %s\n%s", r.status, landed, r.struck, r.delay(at, o), r.said)
	delay := r.delay(at, o)
	if figures.add(at.String()+" "+o.name, delay, r.struck); delay > runLimit || r.struck > requestsLimit {
		w.t.Errorf("delayed by %s, with %d requests", delay, r.struck)
	}
	switch {
	case r.status == 0 && landed:
	case r.status != int(cli.Undecided):
		w.t.Errorf("exit code %d, landed %t", r.status, landed)
	default:
		named := slices.ContainsFunc(messages[at.service], func(message string) bool { return strings.Contains(r.said, message) })
		if !named || !strings.Contains(r.said, away) && at.service != ctLog || !strings.Contains(r.said, "hint: nothing is lost: when that server answers again, run this again") {
			w.t.Errorf("it says\n%s", r.said)
		}
	}
	if o.once && r.status != 0 {
		w.t.Errorf("one failed request: exit code %d\n%s", r.status, r.said)
	}
	if w.mode.rules != nil && strings.Contains(at.request, "/rules") && r.status != 0 && (r.signs() || !strings.Contains(r.said, "nothing was signed: rules of origin/main: ")) {
		w.t.Errorf("GitHub cannot make the commit; it signs: %t, and says\n%s", r.signs(), r.said)
	}
	if now := w.git("-C", "clone", "rev-parse", "HEAD"); now != head && (w.mode.proposes || !landed || now != w.git("-C", "remote.git", "rev-parse", "main")) {
		w.t.Errorf("the clone is at %s", now)
	}
	expect.Equal(w.t, "the work tree", "", w.git("-C", "clone", "status", "--porcelain"))
	next := w.promote(w.mode.args, step{}, nil)
	expect.That(w.t, next.status == 0 && w.promoted(), "the next run exits %d:\n%s", next.status, next.said)
	if (landed || w.mode.first != nil) && next.signs() {
		w.t.Errorf("the next run signs again: %v", next.asked)
	}
	if left := strings.Fields(w.git("-C", "remote.git", "for-each-ref", "--format=%(refname:short)", "refs/heads/polex/commit-*")); len(left) > 1 || len(left) == 1 && !strings.Contains(r.said, left[0]+" may still exist") {
		w.t.Errorf("temporary branches: %q", left)
	}
	if w.mode.proposes {
		if pulls := w.api.Pulls(); len(pulls) != 2 || !strings.HasPrefix(pulls[0], "closed ") || !strings.HasPrefix(pulls[1], "open "+w.target()+": Sign 3") {
			w.t.Errorf("pull requests: %q", pulls)
		}
	}
}

// delay returns the longest time that the outage can have taken: the waits, and the timeouts of the
// requests that hung. A request of git ends with its command.
func (r ran) delay(at step, o *outage) time.Duration {
	if !o.hangs {
		return r.waited
	}
	sum, before := r.waited, false
	for i, s := range r.asked {
		switch {
		case s.service != at.service || slices.Index(r.asked, at) > i:
		case strings.Contains(s.request, "/git/remote.git/"):
			if !before {
				sum += remoteLimit
			}
			before = true
			continue
		default:
			sum += requestLimit
		}
		before = false
	}
	return sum
}

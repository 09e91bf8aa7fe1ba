package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/sigstore/cosign/v2/pkg/cosign"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/internal/sandbox/sandboxtest"
	"github.com/polex-dev/polex/internal/sandbox/tufrepo"
	"github.com/polex-dev/polex/test/mergedpull"
	"github.com/polex-dev/polex/test/must"
)

// sigstoreVariables returns the variables with the addresses of a Sigstore. Normally that is a sandbox that runs during
// the test. If POLEX_TEST_SIGSTORE names a file, it is the Sigstore that the file describes, one variable a line: this
// compares the sandbox with a real one. Tokens are always from a sandbox.
func sigstoreVariables(t *testing.T) []string {
	t.Helper()
	if named := os.Getenv("POLEX_TEST_SIGSTORE"); named != "" {
		return strings.Split(strings.TrimSpace(string(must.Get(os.ReadFile(named))(t))), "\n")
	}
	people := must.Get(sandboxtest.StartPeople())(t)
	t.Cleanup(func() { _ = people.Close() })
	box := must.Get(sandbox.Start(context.Background(), sandbox.Options{Dir: t.TempDir(), People: people.URL}))(t)
	t.Cleanup(func() { _ = box.Close() })
	return []string{
		"POLEX_SANDBOX=" + box.Dir,
		"CONFIG=" + box.ConfigPath,
		"ROOT=" + box.TrustedRootPath,
		"FULCIO=" + box.FulcioURL,
		"REKOR=" + box.RekorURL,
		"CONFIG_V2=" + box.ConfigV2Path,
		"REKOR_V2=" + box.RekorV2URL,
		"TIMESTAMP=" + box.TimestampURL,
		"ISSUER=" + box.IssuerURL,
		"PERSON_ISSUER=" + people.URL,
		"TOKEN_REQUEST_URL=" + box.TokenRequestURL,
		"TOKEN_REQUEST_TOKEN=" + box.TokenRequestToken,
	}
}

// actions sets the variables of GitHub Actions for the sandbox's identity; actions off removes them.
func actions(ts *testscript.TestScript, _ bool, args []string) {
	url, bearer := ts.Getenv("TOKEN_REQUEST_URL"), ts.Getenv("TOKEN_REQUEST_TOKEN")
	if len(args) == 1 && args[0] == "off" {
		url, bearer = "", ""
	}
	ts.Setenv("ACTIONS_ID_TOKEN_REQUEST_URL", url)
	ts.Setenv("ACTIONS_ID_TOKEN_REQUEST_TOKEN", bearer)
}

// token FILE WORKFLOW [LIFETIME] writes a token for a workflow's identity.
func token(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: token file workflow [lifetime]")
	}
	id := sandbox.Identity{WorkflowFile: args[1]}
	if len(args) > 2 {
		lifetime, err := time.ParseDuration(args[2])
		ts.Check(err)
		id.TokenLifetime = lifetime
	}
	jwt, err := sandbox.RequestToken(context.Background(), ts.Getenv("POLEX_SANDBOX"), id, "sigstore")
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(jwt), 0o600))
}

// keypair PRIVATE PUBLIC PASSWORD writes a key pair in cosign's format.
func keypair(ts *testscript.TestScript, args []string) {
	keys, err := cosign.GenerateKeyPair(func(bool) ([]byte, error) { return []byte(args[2]), nil })
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), keys.PrivateBytes, 0o600))
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), keys.PublicBytes, 0o600))
}

// tufServer holds the TUF repository of a script.
type tufServer struct{ repository *tufrepo.Repository }

// tufKey is its key in the script's values.
type tufKeyType struct{}

var tufKey = tufKeyType{}

// tuf serve FILE starts a TUF repository at $TUF with the file as the trusted root, and writes its
// root.json. Then tuf publish FILE replaces the file, tuf expire FILE publishes it with expired
// metadata, and tuf break PATH publishes a wrong signature.
func tuf(ts *testscript.TestScript, args []string) {
	server := ts.Value(tufKey).(*tufServer)
	content := func() []byte {
		raw, err := os.ReadFile(ts.MkAbs(args[1]))
		ts.Check(err)
		return raw
	}
	good := time.Now().Add(24 * time.Hour)
	switch args[0] {
	case "serve":
		var err error
		server.repository, err = tufrepo.New(content(), good)
		ts.Check(err)
		web := httptest.NewServer(server.repository)
		ts.Defer(web.Close)
		ts.Setenv("TUF", web.URL)
		ts.Check(os.WriteFile(ts.MkAbs("root.json"), server.repository.Root(), 0o600))
	case "publish":
		ts.Check(server.repository.Publish(content(), good))
	case "expire":
		ts.Check(server.repository.Publish(content(), time.Now().Add(-time.Minute)))
	case "break":
		raw := bytes.Clone(server.repository.File(args[1]))
		i := bytes.Index(raw, []byte(`"sig":"`))
		if i < 0 {
			ts.Fatalf("%s has no signature", args[1])
		}
		digit := &raw[i+len(`"sig":"`)]
		*digit = map[bool]byte{true: '1', false: '0'}[*digit == '0']
		server.repository.Replace(args[1], raw)
	default:
		ts.Fatalf("unknown: tuf %s", args[0])
	}
}

// fault VARIABLE KIND starts a proxy for the server at the variable's address, and sets $FAULTY to the proxy's address.
// The kinds are those of faults. A fault is permanent; with the prefix once-, it occurs the first time only.
func fault(ts *testscript.TestScript, args []string) {
	target, err := url.Parse(ts.Getenv(args[0]))
	ts.Check(err)
	kind, once := strings.CutPrefix(args[1], "once-")
	wrong, known := faults[kind]
	if !known {
		ts.Fatalf("unknown: fault %s", args[1])
	}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: target.Scheme, Host: target.Host})
	proxy.ErrorLog = log.New(io.Discard, "", 0)
	var mu sync.Mutex
	var before *httptest.ResponseRecorder // the answer to the previous request
	met := false
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if once && met {
			proxy.ServeHTTP(w, r)
			return
		}
		met = true
		before = wrong(faulty{w: w, r: r, next: proxy, before: before})
	}))
	ts.Defer(web.Close)
	ts.Setenv("FAULTY", web.URL+strings.TrimPrefix(ts.Getenv(args[0]), target.Scheme+"://"+target.Host))
}

// faulty is a request that fails.
type faulty struct {
	w      http.ResponseWriter
	r      *http.Request
	next   http.Handler
	before *httptest.ResponseRecorder // the server's answer to the previous request
}

// true returns the real answer of the server.
func (f faulty) true() *httptest.ResponseRecorder {
	heard := httptest.NewRecorder()
	f.next.ServeHTTP(heard, f.r)
	return heard
}

func (f faulty) say(answer *httptest.ResponseRecorder, part int) {
	for name, values := range answer.Header() {
		f.w.Header()[name] = values
	}
	f.w.WriteHeader(answer.Code)
	_, _ = f.w.Write(answer.Body.Bytes()[:part])
}

var faults = map[string]func(faulty) *httptest.ResponseRecorder{
	"down": func(f faulty) *httptest.ResponseRecorder {
		http.Error(f.w, "down for maintenance", http.StatusServiceUnavailable)
		return nil
	},
	"busy": func(f faulty) *httptest.ResponseRecorder { // with Retry-After: one hour
		f.w.Header().Set("Retry-After", "3600")
		http.Error(f.w, "too many requests", http.StatusTooManyRequests)
		return nil
	},
	"elsewhere": func(f faulty) *httptest.ResponseRecorder {
		http.Redirect(f.w, f.r, "http://127.0.0.1:1/", http.StatusTemporaryRedirect)
		return nil
	},
	"endless": func(f faulty) *httptest.ResponseRecorder {
		for range 2 << 10 {
			if _, err := f.w.Write(make([]byte, 1<<10)); err != nil {
				break
			}
		}
		return nil
	},
	"lost": func(f faulty) *httptest.ResponseRecorder { // does the request, and cuts the answer off in the middle
		heard := f.true()
		heard.Header().Set("Content-Length", "100000")
		f.say(heard, heard.Body.Len()/2)
		return nil
	},
	"confused": func(f faulty) *httptest.ResponseRecorder { // returns the answer to the previous request
		heard, said := f.true(), f.before
		if said == nil {
			said = heard
		}
		f.say(said, said.Body.Len())
		return heard
	},
}

// gitHub is the script command
//
//	github CLONE [APPROVER...]
//
// It sets the environment of a workflow for the merge at the clone's HEAD. It starts a GitHub API
// that knows this merge as pull request 12 of alice, approved by the given approvers. They have
// write access, and they approved the merge's second parent.
func gitHub(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 1 {
		ts.Fatalf("usage: github clone [approver...]")
	}
	git := func(arguments ...string) string {
		out, err := exec.Command("git", append([]string{"-C", ts.MkAbs(args[0])}, arguments...)...).Output()
		ts.Check(err)
		return string(out)
	}
	server := mergedpull.Serve(git, args[1:]...)
	ts.Defer(server.Close)
	event := ts.MkAbs("event.json")
	ts.Check(os.WriteFile(event, []byte("{}"), 0o600))
	for name, value := range map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_API_URL": server.URL, "GITHUB_EVENT_PATH": event,
		"GITHUB_REF": "refs/heads/main", "GITHUB_REPOSITORY": mergedpull.Repository, "GITHUB_SERVER_URL": "https://github.com", "GITHUB_TOKEN": mergedpull.Token} {
		ts.Setenv(name, value)
	}
}

// people is the script command
//
//	people LOG
//
// It starts a server that accepts webhooks and GitHub comments for acme/exceptions, and writes each
// changing request to a file. It sets these variables: HOOK for a working webhook, BROKEN for one
// that fails, NOTICE_TOKEN, and those of a runner.
func people(ts *testscript.TestScript, args []string) {
	const token = "ghs_s3cr3t0123456789"
	type object = map[string]any
	var mu sync.Mutex
	comments := map[string][]object{}
	log := ts.MkAbs(args[0])
	ts.Check(os.WriteFile(log, nil, 0o600))
	note := func(r *http.Request) []byte {
		raw, _ := io.ReadAll(r.Body)
		f, err := os.OpenFile(log, os.O_APPEND|os.O_WRONLY, 0o600)
		if err == nil {
			_, _ = fmt.Fprintf(f, "%s %s\n%s\n", r.Method, r.URL.Path, raw)
			_ = f.Close()
		}
		return raw
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /hook/", func(_ http.ResponseWriter, r *http.Request) { note(r) })
	mux.HandleFunc("POST /broken/", func(w http.ResponseWriter, r *http.Request) { http.Error(w, "gone: "+r.URL.String(), http.StatusGone) })
	const at = "/repos/acme/exceptions"
	mux.HandleFunc("GET "+at+"/commits/{sha}/pulls", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `[{"number":14,"html_url":"https://github.com/acme/exceptions/pull/14","merged_at":"2026-11-20T10:11:12Z",`+
			`"head":{"sha":"4444444444444444444444444444444444444444"},"base":{"repo":{"full_name":"acme/exceptions"}}}]`)
	})
	mux.HandleFunc("GET "+at+"/issues/{number}/comments", func(w http.ResponseWriter, r *http.Request) {
		mine := comments[r.PathValue("number")]
		if r.URL.Query().Get("page") != "1" || mine == nil {
			mine = []object{}
		}
		_ = json.NewEncoder(w).Encode(mine)
	})
	mux.HandleFunc("POST "+at+"/issues/{number}/comments", func(w http.ResponseWriter, r *http.Request) {
		number := r.PathValue("number")
		c := object{"id": len(comments[number]) + 1, "user": object{"login": "github-actions[bot]"}}
		_ = json.Unmarshal(note(r), &c)
		comments[number] = append(comments[number], c)
		_ = json.NewEncoder(w).Encode(c)
	})
	mux.HandleFunc("PATCH "+at+"/issues/comments/{id}", func(w http.ResponseWriter, r *http.Request) {
		id, _ := strconv.Atoi(r.PathValue("id"))
		c := object{"id": id}
		_ = json.Unmarshal(note(r), &c)
		_ = json.NewEncoder(w).Encode(c)
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if strings.HasPrefix(r.URL.Path, "/repos/") && r.Header.Get("Authorization") != "Bearer "+token {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	ts.Defer(server.Close)
	for name, value := range map[string]string{"HOOK": server.URL + "/hook/s3cr3tpart", "BROKEN": server.URL + "/broken/s3cr3tpart", "NOTICE_TOKEN": token,
		"GITHUB_API_URL": server.URL, "GITHUB_REPOSITORY": "acme/exceptions", "GITHUB_SERVER_URL": "https://github.com"} {
		ts.Setenv(name, value)
	}
}

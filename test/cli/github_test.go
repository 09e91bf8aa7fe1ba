package cli_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

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
	git := func(revision string) string {
		out, err := exec.Command("git", "-C", ts.MkAbs(args[0]), "rev-parse", revision).Output()
		ts.Check(err)
		return strings.TrimSpace(string(out))
	}
	type object = map[string]any
	type list = []any
	merge, approved, root, folder := git("HEAD"), git("HEAD^2"), git("HEAD^2^{tree}"), git("HEAD^2:unsigned")
	alice := object{"id": 1, "login": "alice", "type": "User"}
	reviews := list{}
	answers := map[string]any{
		"/commits/" + merge + "/pulls": list{object{"number": 12, "html_url": "https://github.com/acme/exceptions/pull/12", "user": alice, "merged_at": "2026-11-20T10:11:12Z",
			"merge_commit_sha": merge, "head": object{"sha": approved}, "base": object{"ref": "main", "repo": object{"full_name": "acme/exceptions"}}}},
		"/commits/" + approved: object{"sha": approved, "author": alice, "commit": object{"tree": object{"sha": root}}},
		"/git/trees/" + root:   object{"tree": list{object{"path": "unsigned", "type": "tree", "mode": "040000", "sha": folder}}},
	}
	var files list
	out, err := exec.Command("git", "-C", ts.MkAbs(args[0]), "ls-tree", "--name-only", folder).Output()
	ts.Check(err)
	for _, name := range strings.Fields(string(out)) {
		files = append(files, object{"path": name, "type": "blob", "mode": "100644", "sha": git("HEAD^2:unsigned/" + name)})
	}
	answers["/git/trees/"+folder] = object{"tree": files}
	for i, login := range args[1:] {
		who := object{"id": 2 + i, "login": login, "type": "User"}
		reviews = append(reviews, object{"id": i, "user": who, "state": "APPROVED", "commit_id": approved, "submitted_at": "2026-11-20T09:00:00Z"})
		answers["/collaborators/"+login+"/permission"] = object{"permission": "write", "user": who}
	}
	answers["/pulls/12/reviews"] = reviews
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, there := answers[strings.TrimPrefix(r.URL.Path, "/repos/acme/exceptions")]
		if !there || r.Header.Get("Authorization") != "Bearer ghs_0123456789" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	ts.Defer(server.Close)
	event := ts.MkAbs("event.json")
	ts.Check(os.WriteFile(event, []byte("{}"), 0o600))
	for name, value := range map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_API_URL": server.URL, "GITHUB_EVENT_PATH": event,
		"GITHUB_REF": "refs/heads/main", "GITHUB_REPOSITORY": "acme/exceptions", "GITHUB_SERVER_URL": "https://github.com", "GITHUB_TOKEN": "ghs_0123456789"} {
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
func people(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: people log")
	}
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

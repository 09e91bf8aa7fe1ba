package cli_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

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

// Package mergedpull has an API of GitHub that knows the merge of one pull request.
package mergedpull

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
)

// Token is the only token that the API accepts, and Repository its only repository.
const (
	Token      = "ghs_0123456789" //nolint:gosec // of a test
	Repository = "acme/exceptions"
)

type (
	object = map[string]any
	list   = []any
)

// Serve starts the API. The merge at HEAD is pull request 12 of alice, with the files in unsigned/. The approvers have write
// access, and approved its second parent. git runs Git in the clone, and returns its output.
func Serve(git func(args ...string) string, approvers ...string) *httptest.Server {
	revision := func(name string) string { return strings.TrimSpace(git("rev-parse", name)) }
	merge, approved, root, folder := revision("HEAD"), revision("HEAD^2"), revision("HEAD^2^{tree}"), revision("HEAD^2:unsigned")
	alice := object{"id": 1, "login": "alice", "type": "User"}
	reviews, files := list{}, list{}
	answers := map[string]any{
		"/commits/" + merge + "/pulls": list{object{"number": 12, "html_url": "https://github.com/acme/exceptions/pull/12",
			"user": alice, "merged_at": "2026-11-20T10:11:12Z", "merge_commit_sha": merge, "head": object{"sha": approved},
			"base": object{"ref": "main", "repo": object{"full_name": Repository}}}},
		"/commits/" + approved: object{"sha": approved, "author": alice, "commit": object{"tree": object{"sha": root}}},
		"/git/trees/" + root:   object{"tree": list{object{"path": "unsigned", "type": "tree", "mode": "040000", "sha": folder}}},
	}
	for _, name := range strings.Fields(git("ls-tree", "--name-only", folder)) {
		files = append(files, object{"path": name, "type": "blob", "mode": "100644", "sha": revision("HEAD^2:unsigned/" + name)})
	}
	answers["/git/trees/"+folder] = object{"tree": files}
	for i, login := range approvers {
		who := object{"id": 2 + i, "login": login, "type": "User"}
		reviews = append(reviews, object{"id": i, "user": who, "state": "APPROVED", "commit_id": approved, "submitted_at": "2026-11-20T09:00:00Z"})
		answers[fmt.Sprintf("/collaborators/%s/permission", login)] = object{"permission": "write", "user": who}
	}
	answers["/pulls/12/reviews"] = reviews
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, there := answers[strings.TrimPrefix(r.URL.Path, "/repos/"+Repository)]
		if !there || r.Header.Get("Authorization") != "Bearer "+Token {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
}

package githubtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// The repository and the token of the server.
const (
	Repository = "acme/exceptions"
	Token      = "ghs_0123456789"
)

// The operations of the API.
const (
	Create  = "create-branch"
	Commit  = "commit"
	Move    = "move-branch"
	Delete  = "delete-branch"
	Rules   = "rules"
	Propose = "propose"
)

// The faults. Each one is for one request, in order.
const (
	Lost         = "lost"          // does it, and closes the connection without an answer
	Late         = "late"          // closes the connection, and does nothing
	Limit        = "limit"         // 403 with Retry-After
	LimitText    = "limit-text"    // 403 that only its text explains
	Forbidden    = "forbidden"     // 403
	OtherTree    = "other-tree"    // commits one file more
	OtherParent  = "other-parent"  // commits on the parent of the branch
	OtherMessage = "other-message" // commits with one trailer more
	Nothing      = "nothing"       // answers well, and does nothing
	Escapes      = "escapes"       // opens a pull request with an address that controls a terminal

	OtherTreeLost = OtherTree + " " + Lost
)

// Server is a running API. Set its fields before the first request.
type Server struct {
	*httptest.Server

	// Faults lists the faults of the next requests of an operation.
	Faults map[string][]string
	// Before is called before each operation.
	Before func(operation string)
	// Bypass is the answer to whether the identity may bypass the rules.
	Bypass string

	dir   string
	mu    sync.Mutex
	done  []string
	pulls []*pull
}

const none = "0000000000000000000000000000000000000000"

type object = map[string]any

// hook enforces the rules for the branch main against git push. The API is exempt: it enforces them
// itself.
const hook = `#!/bin/sh
if [ "$1" != refs/heads/main ]; then exit 0; fi
while read -r rule; do
  case $rule in
    required_signatures)
      for commit in $(git rev-list "$2..$3"); do
        git cat-file commit "$commit" | grep -q ^gpgsig || { echo 'GH013: Repository rule violations found: Commits must have verified signatures.' >&2; exit 1; }
      done ;;
    pull_request) echo 'GH013: Repository rule violations found: Changes must be made through a pull request.' >&2; exit 1 ;;
    merge_queue) echo 'GH013: Repository rule violations found: Changes must be made through the merge queue' >&2; exit 1 ;;
  esac
done <"$(git rev-parse --git-dir)/polex-rules"
`

// New starts the API for a bare repository with these rules for main. Close it.
func New(dir string, rules ...string) (*Server, error) {
	s := &Server{dir: dir, Faults: map[string][]string{}}
	if err := os.MkdirAll(filepath.Join(dir, "hooks"), 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "hooks", "update"), []byte(hook), 0o755); err != nil {
		return nil, err
	}
	if err := s.SetRules(rules...); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	const at = "/repos/" + Repository
	routes := map[string]route{
		"POST " + at + "/git/refs":                     {Create, s.create},
		"PATCH " + at + "/git/refs/heads/{branch...}":  {Move, s.move},
		"DELETE " + at + "/git/refs/heads/{branch...}": {Delete, s.delete},
		"GET " + at + "/git/ref/heads/{branch...}":     {"read-branch", s.read},
		"GET " + at + "/rules/branches/{branch...}":    {Rules, s.rules},
		"GET " + at + "/rulesets/{id}":                 {"ruleset", s.ruleset},
		"GET " + at + "/pulls":                         {"pulls", s.listPulls},
		"POST " + at + "/pulls":                        {Propose, s.propose},
		"PATCH " + at + "/pulls/{number}":              {"change-pull", s.changePull},
		"GET " + at + "/compare/{commits}":             {"compare", s.compare},
		"POST /graphql":                                {Commit, s.commit},
	}
	for pattern, o := range routes {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { s.answer(w, r, o.operation, o.do) })
	}
	s.Server = httptest.NewServer(mux)
	return s, nil
}

// route is an operation of the API.
type route struct {
	operation string
	do        func(*http.Request, string) (int, any)
}

// SetRules sets the rules for main.
func (s *Server) SetRules(rules ...string) error {
	return os.WriteFile(filepath.Join(s.dir, "polex-rules"), []byte(strings.Join(append(rules, ""), "\n")), 0o644)
}

// Done returns the operations that were asked for, in order.
func (s *Server) Done() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.done)
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, operation string, do func(*http.Request, string) (int, any)) {
	reply := func(status int, value any) {
		if status == http.StatusNoContent {
			w.WriteHeader(status)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(value)
	}
	if r.Header.Get("Authorization") != "Bearer "+Token {
		reply(http.StatusUnauthorized, object{"message": "Bad credentials"})
		return
	}
	if s.Before != nil {
		s.Before(operation)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = append(s.done, operation)
	fault := ""
	if left := s.Faults[operation]; len(left) > 0 {
		fault, s.Faults[operation] = left[0], left[1:]
	}
	status, value := 0, any(nil)
	switch fault {
	case Limit:
		w.Header().Set("Retry-After", "1")
		reply(http.StatusForbidden, object{"message": "You have exceeded a secondary rate limit."})
		return
	case LimitText:
		reply(http.StatusForbidden, object{"message": "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."})
		return
	case Forbidden:
		reply(http.StatusForbidden, object{"message": "Resource not accessible by integration"})
		return
	case Nothing:
		reply(http.StatusOK, object{})
		return
	case Late:
	default:
		status, value = do(r, fault)
	}
	if strings.HasSuffix(fault, Lost) || fault == Late {
		if connection, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_ = connection.Close()
		}
		return
	}
	reply(status, value)
}

// git runs Git in the repository. It ends also if the client hangs up.
func (s *Server) git(ctx context.Context, env []string, input []byte, args ...string) (string, error) {
	c := exec.CommandContext(context.WithoutCancel(ctx), "git", append([]string{"-C", s.dir, "-c", "safe.bareRepository=all"}, args...)...) // #nosec G204 G702 -- a test
	c.Env = append(append(c.Environ(), "GIT_CONFIG_NOSYSTEM=1", "HOME="+s.dir), env...)
	c.Stdin = bytes.NewReader(input)
	var said bytes.Buffer
	c.Stderr = &said
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, said.String())
	}
	return strings.TrimSpace(string(out)), nil
}

func refuse(message string) (int, any) {
	return http.StatusUnprocessableEntity, object{"message": message}
}

func (s *Server) has(rule string) bool {
	raw, err := os.ReadFile(filepath.Join(s.dir, "polex-rules"))
	return err == nil && slices.Contains(strings.Fields(string(raw)), rule)
}

func (s *Server) tip(ctx context.Context, branch string) string {
	hash, err := s.git(ctx, nil, nil, "rev-parse", "--verify", "--quiet", "refs/heads/"+branch)
	if err != nil {
		return ""
	}
	return hash
}

// set moves, creates or deletes a branch whose present commit is old.
func (s *Server) set(ctx context.Context, branch, commit, old string) error {
	if commit == "" {
		commit = none
	}
	if old == "" {
		old = none
	}
	_, err := s.git(ctx, nil, nil, "update-ref", "refs/heads/"+branch, commit, old)
	return err
}

func (s *Server) create(r *http.Request, _ string) (int, any) {
	var asked struct{ Ref, SHA string }
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		return refuse(err.Error())
	}
	name := strings.TrimPrefix(asked.Ref, "refs/heads/")
	if s.tip(r.Context(), name) != "" {
		return refuse("Reference already exists")
	}
	if err := s.set(r.Context(), name, asked.SHA, ""); err != nil {
		return refuse("Object does not exist")
	}
	return http.StatusCreated, object{"ref": asked.Ref, "object": object{"sha": asked.SHA}}
}

func (s *Server) read(r *http.Request, _ string) (int, any) {
	at := s.tip(r.Context(), r.PathValue("branch"))
	if at == "" {
		return http.StatusNotFound, object{"message": "Not Found"}
	}
	return http.StatusOK, object{"object": object{"sha": at}}
}

func (s *Server) move(r *http.Request, _ string) (int, any) {
	var asked struct {
		SHA   string
		Force *bool
	}
	branch := r.PathValue("branch")
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || asked.Force == nil || *asked.Force {
		return refuse("force is not false")
	}
	old := s.tip(r.Context(), branch)
	if branch == "main" {
		for _, rule := range []string{"pull_request", "merge_queue"} {
			if s.has(rule) {
				return refuse("Repository rule violations found\n\n" + rule)
			}
		}
		if content, err := s.git(r.Context(), nil, nil, "cat-file", "commit", asked.SHA); s.has("required_signatures") && (err != nil || !strings.Contains(content, "\ngpgsig ")) {
			return refuse("Repository rule violations found\n\nCommits must have verified signatures.")
		}
	}
	if _, err := s.git(r.Context(), nil, nil, "merge-base", "--is-ancestor", old, asked.SHA); old == "" || err != nil {
		return refuse("Update is not a fast forward")
	}
	if err := s.set(r.Context(), branch, asked.SHA, old); err != nil {
		return refuse(err.Error())
	}
	return http.StatusOK, object{"object": object{"sha": asked.SHA}}
}

func (s *Server) delete(r *http.Request, _ string) (int, any) {
	branch := r.PathValue("branch")
	if err := s.set(r.Context(), branch, "", s.tip(r.Context(), branch)); err != nil || branch == "main" {
		return refuse("Reference does not exist")
	}
	return http.StatusNoContent, nil
}

func (s *Server) rules(r *http.Request, _ string) (int, any) {
	found := []object{}
	raw, err := os.ReadFile(filepath.Join(s.dir, "polex-rules"))
	if err == nil && r.PathValue("branch") == "main" && r.URL.Query().Get("page") == "1" {
		for i, rule := range strings.Fields(string(raw)) {
			found = append(found, object{"type": rule, "ruleset_id": 40 + i, "ruleset_source_type": "Repository", "ruleset_source": Repository})
		}
	}
	return http.StatusOK, found
}

func (s *Server) ruleset(*http.Request, string) (int, any) {
	if s.Bypass == "" {
		return http.StatusNotFound, object{"message": "Not Found"}
	}
	return http.StatusOK, object{"current_user_can_bypass": s.Bypass}
}

func (s *Server) compare(r *http.Request, _ string) (int, any) {
	older, newer, _ := strings.Cut(r.PathValue("commits"), "...")
	contains := func(commit, other string) bool {
		_, err := s.git(r.Context(), nil, nil, "merge-base", "--is-ancestor", other, commit)
		return err == nil
	}
	status := "diverged"
	switch {
	case contains(newer, older) && contains(older, newer):
		status = "identical"
	case contains(newer, older):
		status = "ahead"
	case contains(older, newer):
		status = "behind"
	}
	return http.StatusOK, object{"status": status}
}

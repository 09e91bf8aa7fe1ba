package rules_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/test/must"
)

// languages tell how pre-commit gets the program of a hook: it builds it with Go, or it is installed.
var languages = map[string]string{"polex-validate": "golang", "polex-validate-system": "system"}

// TestPreCommitHooks compares the hooks with their commands and files.
func TestPreCommitHooks(t *testing.T) {
	raw := must.Get(os.ReadFile(filepath.Join("..", "..", ".pre-commit-hooks.yaml")))(t)
	var hooks []struct {
		ID            string   `json:"id"`
		Name          string   `json:"name"`
		Description   string   `json:"description"`
		Language      string   `json:"language"`
		Entry         string   `json:"entry"`
		Files         string   `json:"files"`
		Types         []string `json:"types"`
		RequireSerial bool     `json:"require_serial"`
	}
	must.Do(t, yaml.UnmarshalStrict(raw, &hooks))
	if len(hooks) != len(languages) {
		t.Fatalf("there are %d hooks, want %d", len(hooks), len(languages))
	}
	for _, hook := range hooks {
		command, _, _ := strings.Cut(hook.Entry, " ")
		if _, err := os.Stat(filepath.Join("..", "..", "cmd", command, "main.go")); err != nil {
			t.Errorf("%s runs %s, which is no command: %v", hook.ID, command, err)
		}
		if want := languages[hook.ID]; want == "" || hook.Language != want || !hook.RequireSerial {
			t.Errorf("%s is to be of the language %q and given all files at once", hook.ID, want)
		}
		files := must.Get(regexp.Compile(hook.Files))(t)
		for path, want := range map[string]bool{
			"unsigned/web.yaml": true, "unsigned/team-a/web.yml": true, "clusters/a/unsigned/web.json": true,
			"signed/web.yaml": false, "notunsigned/web.yaml": false, "unsigned/README.md": false, "unsigned.yaml": false,
		} {
			if files.MatchString(path) != want {
				t.Errorf("%s is for %s: %v", hook.ID, path, !want)
			}
		}
	}
}

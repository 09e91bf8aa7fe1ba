//go:build e2e

package workflow

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/sandbox"
)

// owner and name are whose the repository is that the tests make of the template.
const owner, name = "acme", "exceptions"

// sigstore starts a Sigstore that knows a workflow of that repository by its file.
func sigstore(t *testing.T, workflow string) *sandbox.Sandbox {
	t.Helper()
	s, err := sandbox.Start(t.Context(), sandbox.Options{Dir: t.TempDir(), RekorVersions: []int{1},
		Identity: sandbox.Identity{Repository: owner + "/" + name, WorkflowFile: workflow}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// template is the files of examples/github, with everything replaced that its
// README says to replace. What else is changed is what another Sigstore than the
// public-good one takes: its addresses, its issuer and its root.
func template(t *testing.T, s *sandbox.Sandbox) map[string]string {
	t.Helper()
	files := map[string]string{}
	root := fromRoot("examples/github")
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, path)
		files[filepath.ToSlash(relative)] = filled.Replace(string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	trusted, err := os.ReadFile(filepath.Join(s.Dir, "trusted_root.json"))
	if err != nil {
		t.Fatal(err)
	}
	files["trusted_root.json"] = string(trusted)
	files[".polex.yaml"] = strings.NewReplacer("https://token.actions.githubusercontent.com", s.IssuerURL, "\ntrust:\n", "\ntrust:\n  trustedRoot: trusted_root.json\n").
		Replace(files[".polex.yaml"]) + "sigstore:\n  fulcioURL: " + s.FulcioURL + "\n  rekorURL: " + s.RekorURL + "\n"
	return files
}

// filled replaces what the template leaves open.
var filled = strings.NewReplacer(
	"0000000000000000000000000000000000000000", actionCommit,
	"<owner>", owner, "<repository>", name,
	"<repository id>", `"1001"`, "<owner id>", `"2001"`, // what the sandbox says they are
	"<policy team>", "policy", "<platform team>", "platform",
)

//go:build e2e

package gitops

import (
	"testing"
)

// repository is a repository with exceptions on the Git server.
type repository struct{ name, url string }

// newRepository makes one with these files in its first commit.
func newRepository(t *testing.T, name string, files map[string]string) repository {
	t.Helper()
	if err := remote.Create(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	r := repository{name: name, url: remote.URL(name)}
	r.commit(t, files)
	return r
}

// commit pushes one commit and returns it. It deletes a file with the text "".
func (r repository) commit(t *testing.T, files map[string]string) string {
	t.Helper()
	changes := map[string][]byte{}
	for path, text := range files {
		if text == "" {
			changes[path] = nil
			continue
		}
		changes[path] = []byte(text)
	}
	commit, err := remote.Commit(t.Context(), r.name, "exceptions", changes)
	if err != nil {
		t.Fatal(err)
	}
	return commit
}

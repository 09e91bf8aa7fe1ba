package git_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/test/expect"
)

// opened opens a repository and returns the trees of some commits.
func opened(t *testing.T, dir string, revisions ...string) (*git.Repository, []*git.Tree) {
	t.Helper()
	r := expect.Value(git.Open(context.Background(), dir))(t)
	t.Cleanup(func() { r.Close() })
	var trees []*git.Tree
	for _, revision := range revisions {
		hash := expect.Value(r.Resolve(revision))(t)
		commit := expect.Value(r.Commit(hash))(t)
		trees = append(trees, r.TreeOf(commit))
	}
	return r, trees
}

func differences(old, changed *git.Tree, path string) ([]string, error) {
	var all []string
	err := git.Differences(old, changed, path, func(c git.Change) error {
		sign := "M"
		switch {
		case c.Old.Hash().IsZero():
			sign = "A"
		case c.New.Hash().IsZero():
			sign = "D"
		}
		all = append(all, sign+" "+c.Path)
		return nil
	})
	return all, err
}

// TestDifferences compares the differences with git's, over a history of random changes of files,
// folders and their kinds.
func TestDifferences(t *testing.T) {
	r := newRepository(t, map[string]string{"signed/a.yaml": "a", "other": "o"})
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same each time
	names := []string{"a", "a.yaml", "a-b", "a/b", "a/c/d", "a0", "b", "b/a", "b.yaml"}
	for range 30 {
		for range 3 {
			path := filepath.Join(r.dir, "signed", names[random.IntN(len(names))])
			os.RemoveAll(path)
			for at := filepath.Dir(path); at != r.dir; at = filepath.Dir(at) {
				if info, err := os.Lstat(at); err == nil && !info.IsDir() {
					os.Remove(at)
				}
			}
			if random.IntN(3) > 0 {
				rel, _ := filepath.Rel(r.dir, path)
				r.write(rel, fmt.Sprint(random.IntN(4)))
			}
		}
		r.commit("Change")
	}
	for _, packed := range []bool{false, true} {
		if packed {
			r.git("gc", "--quiet", "--aggressive")
		}
		revisions := strings.Fields(r.git("rev-list", "HEAD"))
		_, trees := opened(t, r.dir, revisions...)
		for i := range len(revisions) - 1 {
			out := r.git("diff-tree", "-r", "--no-renames", "--name-status", revisions[i+1], revisions[i], "--", "signed")
			got := expect.Value(differences(trees[i+1], trees[i], "signed"))(t)
			// For git too, a file in the place of a folder is a new file.
			var want []string
			for line := range strings.Lines(out) {
				want = append(want, strings.Replace(strings.TrimSpace(line), "\t", " ", 1))
			}
			slices.Sort(want)
			what := fmt.Sprintf("packed %v, commit %s (-git +here)", packed, revisions[i])
			expect.Equal(t, what, slices.Compact(want), slices.Compact(slices.Sorted(slices.Values(got))))
		}
		whole := expect.Value(differences(nil, trees[0], "signed"))(t)
		listed := r.git("ls-tree", "-r", "--name-only", "HEAD", "signed") + "\n"
		expect.Is(t, "files", strings.Count(listed, "\n"), len(whole))
		expect.Is(t, "differences from itself", 0, len(expect.Value(differences(trees[0], trees[0], "signed"))(t)))
		expect.Is(t, "differences nowhere", 0, len(expect.Value(differences(nil, trees[0], "missing"))(t)))
	}
}

// TestHostileDifferences: two programs could read these trees differently.
func TestHostileDifferences(t *testing.T) {
	for name, tc := range map[string]struct{ lines, want string }{
		"out of order":                {"100644 blob %[1]s\tb\n100644 blob %[1]s\ta\n", "is not sorted"},
		"a name that stands twice":    {"100644 blob %[1]s\ta\n100644 blob %[1]s\ta\n", "two entries called"},
		"a file and a folder":         {"100644 blob %[1]s\ta\n100644 blob %[1]s\ta-b\n040000 tree %[2]s\ta\n", "two entries called"},
		"a name that leads elsewhere": {"100644 blob %[1]s\t..\n", "is not a valid file name"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t, map[string]string{"signed/a.yaml": "a"})
			blob, tree := r.git("rev-parse", "HEAD:signed/a.yaml"), r.git("rev-parse", "HEAD:signed")
			raw := []byte{}
			for line := range strings.Lines(fmt.Sprintf(tc.lines, blob, tree)) {
				mode, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
				kindHash, entry, _ := strings.Cut(rest, "\t")
				hash := git.NewHash(strings.Fields(kindHash)[1])
				raw = append(append(append(raw, strings.TrimPrefix(mode, "0")+" "+entry+"\x00"...), hash[:]...), []byte{}...)
			}
			r.must(os.WriteFile(filepath.Join(r.dir, "raw"), raw, 0o600))
			bad := r.git("hash-object", "-t", "tree", "-w", "--literally", "raw")
			root := []byte{}
			hash := git.NewHash(bad)
			root = append(append(root, "40000 signed\x00"...), hash[:]...)
			r.must(os.WriteFile(filepath.Join(r.dir, "raw"), root, 0o600))
			commit := r.git("commit-tree", "-m", "Bad", r.git("hash-object", "-t", "tree", "-w", "--literally", "raw"))
			_, trees := opened(t, r.dir, commit)
			_, err := differences(nil, trees[0], "signed")
			expect.Error(t, err, tc.want)
		})
	}
}

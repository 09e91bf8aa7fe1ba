package git_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

func TestCommit(t *testing.T) {
	r := newRepository(t, kept)
	first := r.Head()
	r.Line("checkout", "--quiet", "-b", "side")
	r.Commit("Beside")
	r.Line("checkout", "--quiet", "main")
	r.Line("merge", "--quiet", "--no-ff", "--message=Merge it\n\nBody\n\nPolex-Pruned: a", "side")
	tree := r.Line("rev-parse", "HEAD^{tree}")
	stamp := func(name, email string, when int64, hours int) git.Stamp {
		return git.Stamp{Name: name, Email: email, When: time.Unix(when, 0).UTC(), Offset: hours * 60 * 60}
	}
	a, b := stamp("A", "a@b", 1, 0), stamp("B", "b@b", 2, 0)
	const author, committer, parent = "author A <a@b> 1 +0000\n", "committer B <b@b> 2 +0000\n", "parent %s\n"
	for name, tc := range map[string]struct {
		content string
		want    *git.Commit // nil: it cannot be read
	}{
		"a plain one": {"author A <ann@example.com> 1700000000 +0900\ncommitter B <bob@example.com> 1700000001 -0100\n\nText\n",
			&git.Commit{Author: stamp("A", "ann@example.com", 1700000000, 9), Committer: stamp("B", "bob@example.com", 1700000001, -1), Message: "Text\n"}},
		"a signed one": {author + committer + "gpgsig -----BEGIN\n author X <x@x> 3 +0000\n -----END\n\nText\n",
			&git.Commit{Author: a, Committer: b, Message: "Text\n"}},
		"times that are none": {"author A <a@b> -5 +0000\ncommitter B <b@b> 99999999999999999999 +0000\n\n",
			&git.Commit{Author: git.Stamp{Name: "A", Email: "a@b"}, Committer: git.Stamp{Name: "B", Email: "b@b"}}},
		"many parents": {strings.Repeat(parent, 10_000) + author + committer + "\nText\n",
			&git.Commit{Parents: slices.Repeat([]git.Hash{git.NewHash(first)}, 10_000), Author: a, Committer: b, Message: "Text\n"}},
		"nobody":            {"author\n" + committer + "\n", nil},
		"no committer":      {author + "\n", nil},
		"a second author":   {author + author + committer + "\n", nil},
		"a parent too late": {author + parent + committer + "\n", nil},
		"too many parents":  {strings.Repeat(parent, git.MaxParents+1) + author + committer + "\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			must.Do(r.TB, os.WriteFile(r.Path("raw"), []byte("tree "+tree+"\n"+strings.ReplaceAll(tc.content, "%s", first)), 0o600))
			hash := git.NewHash(r.Line("hash-object", "-t", "commit", "-w", "--literally", "raw"))
			repository, _ := opened(t, r.Dir)
			if tc.want == nil {
				expect.Failure(repository.Commit(hash))(t)
				return
			}
			tc.want.Hash, tc.want.Tree = hash, git.NewHash(tree)
			expect.Equal(t, "commit", tc.want, must.Get(repository.Commit(hash))(t))
		})
	}
	repository, _ := opened(t, r.Dir)
	merge, err := repository.Commit(git.NewHash(r.Line("rev-parse", "main")))
	if err != nil || len(merge.Parents) != 2 || merge.Parents[0].String() != first || !strings.HasSuffix(merge.Message, "Polex-Pruned: a\n") {
		t.Errorf("%+v, %v", merge, err)
	}
}

func TestShallow(t *testing.T) {
	r := newRepository(t, kept)
	r.Commit("Second")
	whole, _ := opened(t, r.Dir)
	if cut, err := whole.Shallow(); err != nil || len(cut) != 0 {
		t.Errorf("a whole one is cut at %v, %v", cut, err)
	}
	part := filepath.Join(t.TempDir(), "part")
	r.Line("clone", "--quiet", "--depth=1", "file://"+r.Dir, part)
	shallow, _ := opened(t, part)
	cut, err := shallow.Shallow()
	expect.That(t, err == nil && len(cut) == 1 && cut[0].String() == r.Head(),
		"cut at %v, %v", cut, err)
	must.Do(r.TB, os.WriteFile(filepath.Join(part, ".git", "shallow"), []byte("nonsense\n"), 0o600))
	expect.Failure(shallow.Shallow())(t) // nonsense is read
}

// TestLargeCommits: a commit of any size is read, as a loose object, in a pack and as a delta.
// Above 1 MiB its message is the first line, and its hash is still checked.
func TestLargeCommits(t *testing.T) {
	const mebibyte = 1 << 20
	parent := git.NewHash("1111111111111111111111111111111111111111")
	commit := func(size int, header string) []byte {
		const person = "A <a@example.com> 0 +0000"
		text := fmt.Sprintf("tree %s\nparent %s\nauthor %s\ncommitter %[3]s\n%[4]s\nx\n",
			git.ZeroHash, parent, person, header)
		return []byte(text + strings.Repeat("y", size-len(text)))
	}
	forms := map[string]func(f *forge, named git.Hash, content []byte){
		"loose": func(f *forge, named git.Hash, content []byte) {
			f.loose(named, fmt.Appendf(nil, "commit %d\x00%s", len(content), content))
		},
		"packed": func(f *forge, named git.Hash, content []byte) {
			f.pack(packed{named, entry(packCommit, uint64(len(content)), nil, content)})
		},
		"a delta": func(f *forge, named git.Hash, content []byte) {
			base := slices.Concat(content, []byte("more"))
			baseHash := git.HashOf(git.KindCommit, base)
			delta := beginOf(len(base), len(content))
			f.pack(packed{baseHash, entry(packCommit, uint64(len(base)), nil, base)},
				packed{named, entry(namedDelta, uint64(len(delta)), baseHash[:], delta)})
		},
	}
	for name, put := range forms {
		for _, tc := range []struct {
			size   int
			header string
			whole  bool
		}{
			{size: mebibyte - 1, whole: true},
			{size: mebibyte},
			{size: 2 * mebibyte},
			{size: git.MaxFile + 8*mebibyte, header: "x-note " + strings.Repeat("z", 3*mebibyte) + "\n"},
		} {
			content := commit(tc.size, tc.header)
			right := git.HashOf(git.KindCommit, content)
			for _, hash := range []git.Hash{right, parent} {
				f := newForge(t)
				put(f, hash, content)
				r := must.Get(git.Open(t.Context(), f.dir))(t)
				got, err := r.Commit(hash)
				switch {
				case hash != right:
					expect.Failure(got, err)(t, "does not match the hash")
				case err != nil:
					t.Errorf("%s, %d bytes: %v", name, tc.size, err)
				case len(got.Parents) != 1 || got.Parents[0] != parent || got.Author.Email != "a@example.com":
					t.Errorf("%s, %d bytes: %+v", name, tc.size, got)
				case tc.whole != strings.HasSuffix(string(content), "\n\n"+got.Message):
					t.Errorf("%s, %d bytes: a message of %d bytes", name, tc.size, len(got.Message))
				case !tc.whole && got.Message != "x" && tc.header == "":
					t.Errorf("%s, %d bytes: the message %.20q", name, tc.size, got.Message)
				}
				must.Do(t, r.Close())
			}
		}
	}
}

// beginOf returns a delta to the first size bytes of a base.
func beginOf(base, size int) []byte {
	out := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(base)), uint64(size))
	for at := 0; at < size; {
		n := min(size-at, 0xffffff)
		out = binary.LittleEndian.AppendUint32(append(out, 0xff), uint32(at))
		out = append(out, byte(n), byte(n>>8), byte(n>>16))
		at += n
	}
	return out
}

// opened opens a repository and returns the trees of some commits.
func opened(t *testing.T, dir string, revisions ...string) (*git.Repository, []*git.Tree) {
	t.Helper()
	r := must.Get(git.Open(context.Background(), dir))(t)
	t.Cleanup(func() { r.Close() })
	var trees []*git.Tree
	for _, revision := range revisions {
		hash := must.Get(r.Resolve(revision))(t)
		commit := must.Get(r.Commit(hash))(t)
		trees = append(trees, r.TreeOf(commit))
	}
	return r, trees
}

func differences(old, changed *git.Tree, below string) ([]string, error) {
	var all []string
	err := git.Differences(old, changed, below, func(c git.Change) error {
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
			name := "signed/" + names[random.IntN(len(names))]
			os.RemoveAll(r.Path(name))
			for at := path.Dir(name); at != "."; at = path.Dir(at) {
				if info, err := os.Lstat(r.Path(at)); err == nil && !info.IsDir() {
					os.Remove(r.Path(at))
				}
			}
			if random.IntN(3) > 0 {
				r.Write(name, fmt.Sprint(random.IntN(4)))
			}
		}
		r.Commit("Change")
	}
	for _, packed := range []bool{false, true} {
		if packed {
			r.Line("gc", "--quiet", "--aggressive")
		}
		revisions := strings.Fields(r.Line("rev-list", "HEAD"))
		_, trees := opened(t, r.Dir, revisions...)
		for i := range len(revisions) - 1 {
			out := r.Line("diff-tree", "-r", "--no-renames", "--name-status", revisions[i+1], revisions[i], "--", "signed")
			got := must.Get(differences(trees[i+1], trees[i], "signed"))(t)
			// For git too, a file in the place of a folder is a new file.
			var want []string
			for line := range strings.Lines(out) {
				want = append(want, strings.Replace(strings.TrimSpace(line), "\t", " ", 1))
			}
			slices.Sort(want)
			what := fmt.Sprintf("packed %v, commit %s (-git +here)", packed, revisions[i])
			expect.Equal(t, what, slices.Compact(want), slices.Compact(slices.Sorted(slices.Values(got))))
		}
		whole := must.Get(differences(nil, trees[0], "signed"))(t)
		listed := r.Line("ls-tree", "-r", "--name-only", "HEAD", "signed") + "\n"
		expect.Is(t, "files", strings.Count(listed, "\n"), len(whole))
		expect.Is(t, "differences from itself", 0, len(must.Get(differences(trees[0], trees[0], "signed"))(t)))
		expect.Is(t, "differences nowhere", 0, len(must.Get(differences(nil, trees[0], "missing"))(t)))
	}
}

package git_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/test/expect"
)

// walked returns the number of entries that a walk of main visits.
func walked(t *testing.T, f *forge) (visited int, err error) {
	t.Helper()
	err = inTree(t, f, func(_ *git.Repository, tree *git.Tree) error {
		return tree.Walk(".", func(git.Entry) error { visited++; return nil })
	})
	return visited, err
}

func inTree(t *testing.T, f *forge, look func(*git.Repository, *git.Tree) error) error {
	t.Helper()
	r := expect.Value(git.Open(context.Background(), f.dir))(t)
	defer r.Close()
	hash := expect.Value(r.Resolve("main"))(t)
	tree := expect.Value(r.Tree(hash))(t)
	return look(r, tree)
}

// twice creates levels of folders that each contain the next one twice.
func (f *forge) twice(levels int) git.Hash {
	h := f.tree(line("100644", "a.yaml", f.put(blob, small)))
	for range levels {
		h = f.tree(line("40000", "a", h), line("40000", "b", h))
	}
	return h
}

// TestTreeBomb: nested folders are counted before the first visit.
func TestTreeBomb(t *testing.T) {
	f := newForge(t)
	f.commit(f.twice(40))
	if visited, err := walked(t, f); visited != 0 || err == nil || !strings.Contains(err.Error(), "more than 100000 files and folders") {
		t.Errorf("%d visited, %v", visited, err)
	}
	f.commit(f.twice(10))
	if visited, err := walked(t, f); visited != 1<<10 || err != nil {
		t.Errorf("%d visited, %v, want 1024", visited, err)
	}
}

// TestSharedFolderDepth: a folder that was measured at a shallow path can be too deep at another
// one.
func TestSharedFolderDepth(t *testing.T) {
	f := newForge(t)
	chain := f.tree(line("100644", "a.yaml", f.put(blob, small)))
	for range 40 {
		chain = f.tree(line("40000", "d", chain))
	}
	deep := chain
	for range 30 {
		deep = f.tree(line("40000", "d", deep))
	}
	f.commit(f.tree(line("40000", "a", chain), line("40000", "b", deep)))
	if visited, err := walked(t, f); visited != 0 || err == nil || !strings.Contains(err.Error(), "levels of folders") {
		t.Errorf("%d visited, %v", visited, err)
	}
}

// TestAllFiles: the objects of one tree have a common limit on their size, and no other: a folder
// with 20,000 signed exceptions has 270 MiB.
func TestAllFiles(t *testing.T) {
	f := newForge(t)
	large := f.put(blob, make([]byte, git.MaxFile))
	var lines [][]byte
	const most = 32 // of 1 GiB
	for i := range most + 1 {
		lines = append(lines, line("100644", fmt.Sprintf("%02d.yaml", i), large))
	}
	f.commit(f.tree(lines...))
	read := 0
	err := inTree(t, f, func(_ *git.Repository, tree *git.Tree) error {
		return tree.Walk(".", func(e git.Entry) error {
			_, err := tree.Read(e)
			if err == nil {
				read++
			}
			return err
		})
	})
	if read <= 8 || read > most || err == nil || !strings.Contains(err.Error(), "more than 1024 MiB") {
		t.Errorf("%d read, %v, want at most %d", read, err, most)
	}
}

// TestManyPathsInOneFolder: a folder counts once, even if many of its files are read.
func TestManyPathsInOneFolder(t *testing.T) {
	f := newForge(t)
	file := f.put(blob, small)
	var lines [][]byte
	var names []string
	for i := range 1000 {
		name := fmt.Sprintf("%03d%s", i, strings.Repeat("x", 1000))
		lines, names = append(lines, line("100644", name, file)), append(names, "many/"+name)
	}
	first := f.commit(f.tree(line("40000", "many", f.tree(lines...))))
	f.commit(f.tree(line("40000", "many", f.tree(append(lines, line("100644", "later", file))...))), first)
	if err := inTree(t, f, func(r *git.Repository, tree *git.Tree) error {
		for _, name := range names[:300] { // more than 256 MiB if each were counted
			if _, err := tree.Find(name); err != nil {
				return err
			}
		}
		origins, err := r.Origins(git.NewHash(tree.Commit()), append(names, "many/later"))
		if err != nil {
			return err
		}
		for _, name := range names {
			if origins[name].Commit != first {
				t.Fatalf("a file comes from %s", origins[name].Commit)
			}
		}
		expect.Is(t, "the last file", tree.Commit(), origins["many/later"].Commit.String())
		return nil
	}); err != nil {
		t.Error(err)
	}
}

package git_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/test/expect"
)

// walked returns the number of entries that a walk of main visits.
func walked(t *testing.T, f *forge) (visited int, err error) {
	t.Helper()
	_, tree := mainTree(t, f)
	err = tree.Walk(".", func(git.Entry) error { visited++; return nil })
	return visited, err
}

// mainTree returns the tree of main, which has the limits of a reader.
func mainTree(t *testing.T, f *forge) (*git.Repository, *git.Tree) {
	t.Helper()
	r, _ := opened(t, f.dir)
	return r, expect.Value(r.Tree(expect.Value(r.Resolve("main"))(t)))(t)
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
	expect.Failure(walked(t, f))(t, "more than 100000 files and folders")
	f.commit(f.twice(10))
	expect.Is(t, "visited", 1<<10, expect.Value(walked(t, f))(t))
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
	expect.Failure(walked(t, f))(t, "levels of folders")
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
	_, tree := mainTree(t, f)
	err := tree.Walk(".", func(e git.Entry) error {
		_, err := tree.Read(e)
		if err == nil {
			read++
		}
		return err
	})
	expect.Error(t, err, "more than 1024 MiB")
	if read <= 8 || read > most {
		t.Errorf("%d read, want at most %d", read, most)
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
	r, tree := mainTree(t, f)
	for _, name := range names[:300] { // more than 256 MiB if each were counted
		expect.Value(tree.Find(name))(t)
	}
	last := tree.Commit()
	origins := expect.Value(r.Origins(git.NewHash(last), append(names, "many/later")))(t)
	for _, name := range names {
		expect.Is(t, name, first, origins[name].Commit)
	}
	expect.Is(t, "the last file", last, origins["many/later"].Commit.String())
}

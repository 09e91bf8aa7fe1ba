package git_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

var (
	blob  = git.KindBlob
	small = []byte("a: 1\n")
)

// TestTreesThatLie: trees that differ from any checkout of them.
func TestTreesThatLie(t *testing.T) {
	for name, tc := range map[string]struct {
		tree func(*forge) git.Hash
		want string
	}{
		"two of a name": {func(f *forge) git.Hash { return f.tree(f.small("100644", "a"), f.small("100644", "a")) }, "two entries"},
		"a file and folder": {func(f *forge) git.Hash {
			return f.tree(f.small("100644", "a"), f.small("100644", "a!"), line("40000", "a", f.tree()))
		}, "two entries"},
		"not in order": {func(f *forge) git.Hash { return f.tree(f.small("100644", "b"), f.small("100644", "a")) }, "is not sorted"},
		"a folder not in order": {func(f *forge) git.Hash {
			return f.tree(f.small("100644", "a"), f.small("100644", "b"), line("40000", "a", f.tree()))
		}, "is not sorted"},
		"up":                {func(f *forge) git.Hash { return f.tree(line("40000", "..", f.tree())) }, "is not a valid file name"},
		"here":              {func(f *forge) git.Hash { return f.tree(line("40000", ".", f.tree())) }, "is not a valid file name"},
		"deeper":            {func(f *forge) git.Hash { return f.tree(f.small("100644", "a/b")) }, "is not a valid file name"},
		"nameless":          {func(f *forge) git.Hash { return f.tree(f.small("100644", "")) }, "is not a valid file name"},
		"Git's own":         {func(f *forge) git.Hash { return f.tree(line("40000", ".GIT", f.tree())) }, "is not a valid file name"},
		"no mode":           {func(f *forge) git.Hash { return f.tree(f.small("", "a")) }, "of the mode"},
		"a mode of letters": {func(f *forge) git.Hash { return f.tree(f.small("x", "a")) }, "of the mode"},
		"a huge mode":       {func(f *forge) git.Hash { return f.tree(f.small("77777777777", "a")) }, "of the mode"},
		"cut off":           {func(f *forge) git.Hash { return f.tree([]byte("100644 a\x00abc")) }, "truncated"},
		"no end of a name":  {func(f *forge) git.Hash { return f.tree([]byte("100644 a")) }, "truncated"},
		"a file as tree":    {func(f *forge) git.Hash { return f.put(blob, small) }, "expected a tree"},
		"a file as folder":  {func(f *forge) git.Hash { return f.tree(f.small("40000", "a")) }, "expected a tree"},
		"a tree as file":    {func(f *forge) git.Hash { return f.tree(line("100644", "a", f.tree())) }, "expected a blob"},
		"a missing file":    {func(f *forge) git.Hash { return f.tree(line("100644", "a", git.Hash{1})) }, "does not have it"},
		"a long name":       {func(f *forge) git.Hash { return f.tree(f.small("100644", strings.Repeat("a", 5000))) }, "a path of more than"},
		"too deep":          {func(f *forge) git.Hash { return f.below(70, f.tree(f.small("100644", "a"))) }, "levels of folders"},
		// Ten folders in ten folders in ten folders, made of a few objects.
		"an endless chain": {func(f *forge) git.Hash {
			h := f.tree()
			for range 12 {
				var lines [][]byte
				for i := range 10 {
					lines = append(lines, line("40000", fmt.Sprintf("d%d", i), h))
				}
				h = f.tree(lines...)
			}
			return h
		}, "more than 100000 files and folders"},
		"a tree of a million lines": {func(f *forge) git.Hash { return f.put(git.KindTree, make([]byte, 17<<20)) }, "too large"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newForge(t)
			f.commit(tc.tree(f))
			expect.Failure(files(f.dir, "main", "."))(t, tc.want)
			switch tc.want { // two programs could read these trees differently
			case "two entries", "is not sorted", "is not a valid file name":
				_, trees := opened(t, f.dir, "main")
				_, err := differences(nil, trees[0], ".")
				expect.Error(t, err, tc.want)
			}
		})
	}
}

// TestModes: only regular files are read.
func TestModes(t *testing.T) {
	f := newForge(t)
	h := f.put(blob, small)
	f.commit(f.tree(line("100755", "executable", h), line("120000", "link", h), line("644", "none", h), line("100600", "odd", h),
		line("100664", "old", h), line("100644", "regular", h), line("160000", "submodule", git.Hash{1})))
	got := must.Get(files(f.dir, "main", "."))(t)
	for name, content := range got {
		expect.That(t, (content == string(small)) == (name == "regular" || name == "executable"),
			"%s: %q", name, content)
	}
	_, tree := mainTree(t, f)
	for _, name := range []string{"link", "submodule", "old", "."} {
		expect.Failure(tree.Read(must.Get(tree.Find(name))(t)))(t)
	}
}

// TestLooseObjectsThatLie: a loose object must match its name and its stated size.
func TestLooseObjectsThatLie(t *testing.T) {
	hash := git.HashOf(blob, small)
	for name, tc := range map[string]struct {
		content, want string
	}{
		"honest":            {"blob 5\x00a: 1\n", ""},
		"other content":     {"blob 5\x00a: 2\n", "the content does not match the hash"},
		"another kind":      {"tree 5\x00a: 1\n", "the content does not match the hash"},
		"longer":            {"blob 5\x00a: 1\n" + strings.Repeat("x", 64<<20), "read object"},
		"shorter":           {"blob 6\x00a: 1\n", "did not answer"},
		"much shorter":      {"blob 6000\x00a: 1\n", "did not answer"},
		"claims too much":   {"blob 99999999999\x00a: 1\n", "too large"},
		"claims the utmost": {"blob 9223372036854775807\x00a: 1\n", "too large"},
		"claims more":       {"blob 18446744073709551616\x00a: 1\n", "read object"},
		"claims less":       {"blob -5\x00a: 1\n", "read object"},
		"no size":           {"blob\x00a: 1\n", "read object"},
		"no kind":           {"5\x00a: 1\n", "read object"},
		"an unknown kind":   {"secret 5\x00a: 1\n", "read object"},
		"no header":         {strings.Repeat("x", 64<<20), "read object"},
		"empty":             {"", "read object"},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.want == "did not answer" { // Git waits for more, and never says so
				t.Cleanup(git.AnswerWithin(time.Second))
			}
			f := newForge(t)
			f.loose(hash, []byte(tc.content))
			f.commit(f.tree(line("100644", "a", hash)))
			same(t, f, tc.want)
		})
	}
	f := newForge(t)
	f.file("objects/"+hash.String()[:2]+"/"+hash.String()[2:], []byte("garbage"))
	f.commit(f.tree(line("100644", "a", hash)))
	same(t, f, "read object")
}

// same checks that a in the commit contains small, or that there is an error.
func same(t *testing.T, f *forge, want string) {
	t.Helper()
	got, err := files(f.dir, "main", "a")
	if want == "" {
		must.Do(t, err)
		expect.Is(t, "content", string(small), got["a"])
		return
	}
	expect.Error(t, err, want)
	expect.That(t, !strings.Contains(want, "too large") || errors.Is(err, git.ErrTooLarge),
		"%v is not ErrTooLarge", err)
}

// TestPacksThatLie: an object of a pack must match its name. It and its parts must not exceed the limits.
func TestPacksThatLie(t *testing.T) {
	hash, base := git.HashOf(blob, small), git.Hash{1}
	one := func(e []byte) []packed { return []packed{{hash, e}} }
	based := func(baseEntry, change []byte) []packed {
		return []packed{{base, baseEntry}, {hash, entry(namedDelta, uint64(len(change)), base[:], change)}}
	}
	zeros := make([]byte, git.MaxFile)
	const large, largest = 40 << 20, 4 * git.MaxFile
	between := change(git.MaxFile, largest)
	last := change(largest, 5)
	whole := func(content []byte) []byte { return entry(packBlob, uint64(len(content)), nil, content) }
	for name, tc := range map[string]struct {
		objects []packed
		want    string
	}{
		"honest":           {one(whole(small)), ""},
		"honest change":    {based(whole([]byte("a: 1\nb: 2\n")), change(10, 5)), ""},
		"other content":    {one(whole([]byte("a: 2\n"))), "the content does not match the hash"},
		"another kind":     {one(entry(packTree, 5, nil, small)), "the content does not match the hash"},
		"an unknown kind":  {one(entry(5, 5, nil, small)), "read object"},
		"claims too much":  {one(entry(packBlob, 1<<40, nil, small)), "too large"},
		"longer":           {one(entry(packBlob, 5, nil, zeros)), "read object"},
		"shorter":          {one(entry(packBlob, 6, nil, small)), "read object"},
		"cut off":          {one([]byte{0xb5}), "read object"},
		"no zlib":          {one([]byte{0x35, 1, 2, 3, 4}), "read object"},
		"a large base":     {based(whole(append(slices.Clone(small), make([]byte, large)...)), change(large+5, 5)), ""},
		"a base too large": {based(entry(packBlob, largest+1, nil, zeros), change(largest+1, 5)), "read object"},
		"a large object":   {one(whole(append(zeros, 0))), "too large"},
		"made too large":   {based(whole(zeros), change(git.MaxFile, git.MaxFile+1)), "too large"},
		"too large on the way": {append(based(whole(zeros), last)[:1],
			packed{git.Hash{2}, entry(namedDelta, uint64(len(between)), base[:], between)},
			packed{hash, entry(namedDelta, uint64(len(last)), []byte{2, 19: 0}, last)}), "over limit"},
		"its own base":           {based(entry(namedDelta, 2, hash[:], change(5, 5)[:2]), change(5, 5)), "read object"},
		"a change too large":     {based(whole(small), zeros), "read object"},
		"no base":                {one(entry(namedDelta, 2, base[:], []byte{5, 5})), "read object"},
		"a base behind it":       {one(entry(offsetDelta, 2, []byte{0x7f}, []byte{5, 5})), "read object"},
		"no sizes":               {based(whole(small), []byte{0xff, 0xff}), "read object"},
		"a base of another size": {based(whole(small), change(6, 5)), "read object"},
		"an empty base":          {based(whole(nil), change(0, 0)), "read object"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newForge(t)
			f.commit(f.tree(line("100644", "a", hash)))
			f.pack(tc.objects...)
			same(t, f, tc.want)
		})
	}
}

// TestChangesThatNeverEnd: a long chain of deltas causes a limited amount of work.
func TestChangesThatNeverEnd(t *testing.T) {
	zeros := make([]byte, git.MaxFile)
	for name, tc := range map[string]struct {
		change []byte
		steps  int
		want   string
	}{
		"much is made":  {change(git.MaxFile, git.MaxFile), 70, "read object"},
		"much is kept":  {append(change(git.MaxFile, git.MaxFile), bytes.Repeat([]byte{0x90, 1}, 1<<20)...), 40, "read object"},
		"many are kept": {change(git.MaxFile, 5), 5000, "read object"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newForge(t)
			objects := []packed{{git.Hash{1}, entry(packBlob, git.MaxFile, nil, zeros)}}
			last := objects[0].hash
			for i := range tc.steps {
				next := git.Hash{2, byte(i), byte(i >> 8)}
				objects = append(objects, packed{next, entry(namedDelta, uint64(len(tc.change)), last[:], tc.change)})
				last = next
			}
			f.pack(objects...)
			f.commit(f.tree(line("100644", "a", last)))
			same(t, f, tc.want)
		})
	}
}

// TestTagsThatLie: a tag must lead to a commit in a few steps.
func TestTagsThatLie(t *testing.T) {
	for name, tc := range map[string]struct {
		tag  func(*forge, git.Hash) []byte
		want string
	}{
		"honest": {func(_ *forge, commit git.Hash) []byte {
			return fmt.Appendf(nil, "object %s\ntype commit\ntag x\n", commit)
		}, ""},
		"a file":  {func(f *forge, _ git.Hash) []byte { return fmt.Appendf(nil, "object %s\n", f.put(blob, small)) }, "a blob, not a commit"},
		"no hash": {func(*forge, git.Hash) []byte { return []byte("object x\n") }, "does not begin with"},
		"no key":  {func(_ *forge, commit git.Hash) []byte { return fmt.Appendf(nil, "tree %s\n", commit) }, "does not begin with"},
		"too many": {func(f *forge, commit git.Hash) []byte {
			for range 10 {
				commit = f.put(git.KindTag, fmt.Appendf(nil, "object %s\n", commit))
			}
			return fmt.Appendf(nil, "object %s\n", commit)
		}, "endless chain"},
		"too large": {func(*forge, git.Hash) []byte { return make([]byte, 2<<20) }, "too large"},
	} {
		f := newForge(t)
		commit := f.commit(f.tree())
		f.file("refs/tags/x", []byte(f.put(git.KindTag, tc.tag(f, commit)).String()))
		got, err := resolve(f.dir, "x")
		t.Run(name, func(t *testing.T) {
			if expect.Outcome(t, err, tc.want); err == nil {
				expect.Is(t, "commit", commit.String(), got)
			}
		})
	}
}

// TestFollow: a link must lead to an entry of the tree in one step.
func TestFollow(t *testing.T) {
	f := newForge(t)
	h := f.put(blob, small)
	to := func(target string) git.Hash { return f.put(blob, []byte(target)) }
	f.commit(f.tree(line("40000", "d", f.tree(line("120000", "again", to("../d")), line("120000", "beside", to("x")),
		line("120000", "link", to("beside")), line("120000", "long", to(strings.Repeat("./", 3000)+"x")), line("120000", "none", to("missing")),
		line("120000", "out", to("../../file")), line("120000", "root", to("/x")), line("120000", "through", to("again/x")),
		line("120000", "up", to("../file")), line("100644", "x", h))), line("100644", "file", h)))
	_, tree := mainTree(t, f)
	for name, want := range map[string]string{"up": "file", "beside": "d/x", "again": "d", "out": "", "root": "", "none": "", "link": "", "through": "", "long": "", "x": ""} {
		got, err := tree.Follow(must.Get(tree.Find("d/" + name))(t))
		expect.That(t, got.Path == want && (want == "") == (err != nil),
			"%s leads to %q, %v, want %q", name, got.Path, err, want)
	}
}

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
	return r, must.Get(r.Tree(must.Get(r.Resolve("main"))(t)))(t)
}

// twice creates levels of folders that each contain the next one twice.
func (f *forge) twice(levels int) git.Hash {
	h := f.tree(f.small("100644", "a.yaml"))
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
	expect.Is(t, "visited", 1<<10, must.Get(walked(t, f))(t))
}

// TestSharedFolderDepth: a folder that was measured at a shallow path can be too deep at another one.
func TestSharedFolderDepth(t *testing.T) {
	f := newForge(t)
	chain := f.below(40, f.tree(f.small("100644", "a.yaml")))
	f.commit(f.tree(line("40000", "a", chain), line("40000", "b", f.below(30, chain))))
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
	expect.That(t, read > 8 && read <= most, "%d read, want at most %d", read, most)
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
	for _, name := range slices.Concat(names, names) { // more than 1 GiB if each were counted
		must.Get(tree.Find(name))(t)
	}
	last := tree.Commit()
	origins := must.Get(r.Origins(git.NewHash(last), append(names, "many/later")))(t)
	for _, name := range names {
		expect.Is(t, name, first, origins[name].Commit)
	}
	expect.Is(t, "the last file", last, origins["many/later"].Commit.String())
}

package git_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/test/expect"
)

func TestCommit(t *testing.T) {
	r := newRepository(t, kept)
	first := r.git("rev-parse", "HEAD")
	r.git("checkout", "--quiet", "-b", "side")
	r.commit("Beside")
	r.git("checkout", "--quiet", "main")
	r.git("merge", "--quiet", "--no-ff", "--message=Merge it\n\nBody\n\nPolex-Pruned: a", "side")
	tree := r.git("rev-parse", "HEAD^{tree}")
	for name, tc := range map[string]struct {
		content string
		want    *git.Commit
	}{
		"a plain one": {
			content: "author A <ann@example.com> 1700000000 +0900\ncommitter B <bob@example.com> 1700000001 -0100\n\nText\n",
			want: &git.Commit{Author: git.Stamp{Name: "A", Email: "ann@example.com", When: time.Unix(1700000000, 0).UTC(), Offset: 9 * 60 * 60},
				Committer: git.Stamp{Name: "B", Email: "bob@example.com", When: time.Unix(1700000001, 0).UTC(), Offset: -60 * 60}, Message: "Text\n"},
		},
		"a signed one": {
			content: "author A <a@b> 1 +0000\ncommitter B <b@b> 2 +0000\ngpgsig -----BEGIN\n author X <x@x> 3 +0000\n -----END\n\nText\n",
			want: &git.Commit{Author: git.Stamp{Name: "A", Email: "a@b", When: time.Unix(1, 0).UTC()},
				Committer: git.Stamp{Name: "B", Email: "b@b", When: time.Unix(2, 0).UTC()}, Message: "Text\n"},
		},
		"times that are none": {
			content: "author A <a@b> -5 +0000\ncommitter B <b@b> 99999999999999999999 +0000\n\n",
			want:    &git.Commit{Author: git.Stamp{Name: "A", Email: "a@b"}, Committer: git.Stamp{Name: "B", Email: "b@b"}},
		},
		"many parents": {
			content: strings.Repeat("parent "+first+"\n", 10_000) + "author A <a@b> 1 +0000\ncommitter B <b@b> 2 +0000\n\nText\n",
			want: &git.Commit{Parents: slices.Repeat([]git.Hash{git.NewHash(first)}, 10_000),
				Author:    git.Stamp{Name: "A", Email: "a@b", When: time.Unix(1, 0).UTC()},
				Committer: git.Stamp{Name: "B", Email: "b@b", When: time.Unix(2, 0).UTC()}, Message: "Text\n"},
		},
		"nobody":            {content: "author\ncommitter B <b@b> 2 +0000\n\n"},
		"no committer":      {content: "author A <a@b> 1 +0000\n\n"},
		"a second author":   {content: "author A <a@b> 1 +0000\nauthor A <a@b> 1 +0000\ncommitter B <b@b> 2 +0000\n\n"},
		"a parent too late": {content: "author A <a@b> 1 +0000\nparent " + first + "\ncommitter B <b@b> 2 +0000\n\n"},
		"too many parents":  {content: strings.Repeat("parent "+first+"\n", git.MaxParents+1) + "author A <a@b> 1 +0000\ncommitter B <b@b> 2 +0000\n\n"},
	} {
		t.Run(name, func(t *testing.T) {
			r.must(os.WriteFile(filepath.Join(r.dir, "raw"), []byte("tree "+tree+"\n"+tc.content), 0o600))
			hash := git.NewHash(r.git("hash-object", "-t", "commit", "-w", "--literally", "raw"))
			repository, _ := opened(t, r.dir)
			if tc.want == nil {
				expect.Failure(repository.Commit(hash))(t)
				return
			}
			tc.want.Hash, tc.want.Tree = hash, git.NewHash(tree)
			expect.Equal(t, "commit", tc.want, expect.Value(repository.Commit(hash))(t))
		})
	}
	repository, _ := opened(t, r.dir)
	merge, err := repository.Commit(git.NewHash(r.git("rev-parse", "main")))
	if err != nil || len(merge.Parents) != 2 || merge.Parents[0].String() != first || !strings.HasSuffix(merge.Message, "Polex-Pruned: a\n") {
		t.Errorf("%+v, %v", merge, err)
	}
}

func TestShallow(t *testing.T) {
	r := newRepository(t, kept)
	r.commit("Second")
	whole, _ := opened(t, r.dir)
	if cut, err := whole.Shallow(); err != nil || len(cut) != 0 {
		t.Errorf("a whole one is cut at %v, %v", cut, err)
	}
	part := filepath.Join(t.TempDir(), "part")
	r.git("clone", "--quiet", "--depth=1", "file://"+r.dir, part)
	shallow, _ := opened(t, part)
	cut, err := shallow.Shallow()
	if err != nil || len(cut) != 1 || cut[0].String() != r.git("rev-parse", "HEAD") {
		t.Errorf("cut at %v, %v", cut, err)
	}
	r.must(os.WriteFile(filepath.Join(part, ".git", "shallow"), []byte("nonsense\n"), 0o600))
	expect.Failure(shallow.Shallow())(t) // nonsense is read
}

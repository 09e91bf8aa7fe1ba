package commit_test

import (
	"os"
	"strings"
	"testing"
)

// TestIndexVersions: in every index version, Git reads the same entries as before, except the
// changed ones.
func TestIndexVersions(t *testing.T) {
	for _, version := range []string{"2", "3", "4"} {
		t.Run(version, func(t *testing.T) {
			r := newRepository(t, waiting)
			long := strings.Repeat("long/", 60) + strings.Repeat("n", 100)
			r.write(long, "x")
			r.commit("Add a long name")
			r.git("update-index", "--index-version", version)
			r.write("intended.txt", "x")
			if version != "2" {
				r.git("add", "--intent-to-add", "intended.txt")
			}
			r.git("update-index", "--assume-unchanged", "signed.txt")
			r.write("signed.txt", "changed, and not to be seen\n")
			got := start(t, order{Dir: r.dir, Mode: "commit", KillAt: -1})
			if got.Err != "" {
				t.Fatal(got.Err)
			}
			if diff := r.git("diff", "--cached", "--name-only", "--diff-filter=MD", "HEAD"); diff != "" {
				t.Errorf("the index differs from HEAD: %s", diff)
			}
			// Plumbing commands compare only the times in the index.
			if diff := r.git("diff-files", "--name-only", "--", "signed", "unsigned"); diff != "" {
				t.Errorf("the work tree differs from what the index notes: %s", diff)
			}
			if flags := r.git("ls-files", "-v", "signed.txt"); flags != "h signed.txt\n" {
				t.Errorf("the flags are gone: %q", flags)
			}
			if names := r.git("ls-files", long, "intended.txt"); !strings.Contains(names, long) || strings.Contains(names, "intended") != (version != "2") {
				t.Errorf("the index has %q", names)
			}
			if out := r.git("fsck"); strings.Contains(out, "error") {
				t.Error(out)
			}
			if header := r.read(".git/index"); header[7] != version[0]-'0' {
				t.Errorf("its version is %d", header[7])
			}
		})
	}
}

// TestIndexIsRefused: polex does not change a damaged or locked index.
func TestIndexIsRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		prepare func(*repository)
		want    string
	}{
		"in the middle of a merge": {func(r *repository) {
			r.git("checkout", "--quiet", "-b", "other")
			r.write("README.md", "theirs\n")
			r.commit("Theirs")
			r.git("checkout", "--quiet", "main")
			r.write("README.md", "ours\n")
			r.commit("Ours")
			_, _ = r.try("merge", "other")
		}, "in the middle of a merge"},
		"staged": {func(r *repository) {
			r.write("unsigned/a.yaml", "a: 2\n")
			r.git("add", "unsigned/a.yaml")
			r.write("unsigned/a.yaml", "a: 1\n")
		}, "staged with different content"},
		"cut off": {func(r *repository) { r.must(os.Truncate(r.path(".git/index"), 100)) }, "malformed"},
		"another": {func(r *repository) { r.write(".git/index", strings.Repeat("x", 100)) }, "malformed"},
		"version 5": {func(r *repository) {
			r.write(".git/index", "DIRC\x00\x00\x00\x05\x00\x00\x00\x00"+strings.Repeat("\x00", 20))
		}, "bad index version 5"},
		"a huge one": {func(r *repository) {
			r.write(".git/index", "DIRC\x00\x00\x00\x02\xff\xff\xff\xff"+strings.Repeat("\x00", 20))
		}, "malformed"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t, waiting)
			tc.prepare(r)
			head, index := r.head(), r.read(".git/index")
			got := start(t, order{Dir: r.dir, Mode: "commit", KillAt: -1})
			if !strings.Contains(got.Err, tc.want) {
				t.Errorf("it ended with %q, want %q", got.Err, tc.want)
			}
			if r.head() != head || r.read(".git/index") != index {
				t.Error("HEAD or index have changed")
			}
			if _, err := os.Stat(r.path("signed/a.yaml")); err == nil {
				t.Error("it was signed")
			}
		})
	}
}

// TestFormatsRefused: Open rejects repositories in other formats.
func TestFormatsRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		prepare func(*repository)
		want    string
	}{
		"references in tables": {func(r *repository) {
			r.git("config", "core.repositoryFormatVersion", "1")
			r.write(".git/config", r.read(".git/config")+"[extensions]\n\trefStorage = reftable\n")
		}, "refstorage"},
		"a sparse checkout": {func(r *repository) { r.git("sparse-checkout", "set", "unsigned") }, "core.sparseCheckout"},
		"a partial clone": {func(r *repository) {
			r.git("config", "core.repositoryFormatVersion", "1")
			r.git("config", "extensions.partialClone", "origin")
		}, "extensions.partialClone"},
		"a clone without some objects": {func(r *repository) { r.git("config", "remote.origin.promisor", "true") }, "remote.origin.promisor"},
		"a reference in the way":       {func(r *repository) { r.git("update-ref", "refs/polex/main", "HEAD") }, "git update-ref -d refs/polex/main"},
		"a packed one": {func(r *repository) {
			r.git("update-ref", "refs/polex", "HEAD")
			r.git("pack-refs", "--all")
		}, "git update-ref -d refs/polex"},
		"SHA-256": {func(r *repository) {
			r.git("config", "core.repositoryFormatVersion", "1")
			r.write(".git/config", r.read(".git/config")+"[extensions]\n\tobjectFormat = sha256\n")
		}, "extensions.objectFormat"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t, waiting)
			tc.prepare(r)
			if got := start(t, order{Dir: r.dir, Mode: "nothing", KillAt: -1}); !strings.Contains(got.Err, tc.want) {
				t.Errorf("it ended with %q", got.Err)
			}
		})
	}
	// A repository inside the files of another one, which a pull request could add.
	outer := newRepository(t, waiting)
	outer.git("init", "--quiet", "--bare", "inner")
	outer.git("-C", "inner", "config", "core.bare", "false")
	outer.git("-C", "inner", "config", "core.worktree", "..")
	if got := start(t, order{Dir: outer.path("inner"), Mode: "nothing", KillAt: -1}); !strings.Contains(got.Err, "bareRepository") {
		t.Errorf("a repository among the files ended with %+v", got)
	}
	bare := newRepository(t, waiting).bare()
	if got := start(t, order{Dir: bare.dir, Mode: "nothing", KillAt: -1}); got.Err == "" {
		t.Error("a bare repository was opened")
	}
}

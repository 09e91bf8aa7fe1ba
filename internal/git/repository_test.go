package git_test

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/gitrepo"
	"github.com/polex-dev/polex/test/must"
)

// repository is a real Git repository.
type repository struct{ *gitrepo.Repository }

func newRepository(tb testing.TB, files map[string]string) *repository {
	tb.Helper()
	dir := tb.TempDir()
	r := &repository{&gitrepo.Repository{TB: tb, Dir: dir, Home: dir}}
	r.Init("Begin", files)
	return r
}

// files returns the content of the files below a path, or the mode of other entries.
func files(dir, revision, path string) (map[string]string, error) {
	r, err := git.Open(context.Background(), dir)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	hash, err := r.Resolve(revision)
	if err != nil {
		return nil, err
	}
	tree, err := r.Tree(hash)
	if err != nil {
		return nil, err
	}
	return below(tree, path)
}

func below(tree *git.Tree, path string) (map[string]string, error) {
	found := map[string]string{}
	err := tree.Walk(path, func(e git.Entry) error {
		found[e.Path] = e.Mode.String()
		if !e.IsFile() {
			return nil
		}
		content, err := tree.Read(e)
		found[e.Path] = string(content)
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

var kept = map[string]string{
	"README.md":             "# Exceptions\n",
	"signed/a.yaml":         "a: 1\n",
	"signed/team/b.json":    "{}\n",
	"signed/team/c d\n.yml": "c: 1\n",
	"signed-by/e.yaml":      "e: 1\n",
}

// grown returns a repository with a file that has changed so often that git stores deltas.
func grown(tb testing.TB) *repository {
	r := newRepository(tb, kept)
	content := strings.Repeat("0123456789abcdef\n", 4000)
	for range 12 {
		content = "another line\n" + content
		r.Write("big.txt", content)
		r.Commit("Grow")
	}
	return r
}

// TestClones: the content of a commit does not depend on the form of the clone.
func TestClones(t *testing.T) {
	here := func(command string) func(*repository) string {
		return func(r *repository) string { r.Line(strings.Fields(command)...); return r.Dir }
	}
	clone := func(options ...string) func(*repository) string {
		return func(r *repository) string { return r.clone(options...) }
	}
	for name, form := range map[string]func(*repository) string{
		"loose":                  func(r *repository) string { return r.Dir },
		"packed":                 here("gc --quiet --aggressive"),
		"changes of named bases": here("-c repack.useDeltaBaseOffset=false repack -a -d -f --quiet"),
		"packed and loose": func(r *repository) string {
			r.Line("gc", "--quiet")
			r.Write("more.txt", "more\n")
			r.Commit("More")
			r.Line("revert", "--no-edit", "HEAD")
			return r.Dir
		},
		"bare":       clone("--bare", "--no-local"),
		"mirror":     clone("--mirror"),
		"shallow":    clone("--depth=1", "--no-local"),
		"refs away":  here("pack-refs --all"),
		".git alone": func(r *repository) string { return r.Path(".git") },
		"an index of several packs and a graph": func(r *repository) string {
			r.Line("repack", "--quiet")
			r.Line("multi-pack-index", "write")
			r.Line("commit-graph", "write", "--reachable")
			return r.Dir
		},
		"alternates":            clone("--shared"),
		"alternates of a clone": func(r *repository) string { return r.clone("--bare", "--no-local", "--reference="+r.Dir) },
		"a linked work tree": func(r *repository) string {
			dir := filepath.Join(r.TB.TempDir(), "linked")
			r.Line("worktree", "add", "--quiet", "--detach", dir)
			return dir
		},
		"a folder of a linked tree": func(r *repository) string {
			r.Line("worktree", "add", "--quiet", "-b", "x", r.TB.TempDir()+"/x")
			return r.Path(".git/worktrees/x")
		},
		"a .git file": func(r *repository) string {
			return r.clone("--separate-git-dir="+filepath.Join(r.TB.TempDir(), "git"), "--no-local")
		},
		"a .git that is a link": func(r *repository) string {
			dir := r.TB.TempDir()
			must.Do(r.TB, os.Symlink(r.Path(".git"), filepath.Join(dir, ".git")))
			return dir
		},
		"objects that are a link": func(r *repository) string {
			elsewhere := filepath.Join(r.TB.TempDir(), "objects")
			must.Do(r.TB, os.Rename(r.Path(".git/objects"), elsewhere))
			must.Do(r.TB, os.Symlink(elsewhere, r.Path(".git/objects")))
			return r.Dir
		},
		"sparse":                          here("sparse-checkout set --cone --sparse-index signed"),
		"partial with the needed objects": func(r *repository) string { return r.partial() },
		"a submodule": func(r *repository) string {
			outer := newRepository(r.TB, kept)
			outer.Line("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", r.Dir, "inner")
			return outer.Path("inner")
		},
		"core.worktree elsewhere": here("config core.worktree nowhere/at/all"),
		"as core.bare":            here("config core.bare true"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := grown(t)
			want := map[string]string{"big.txt": strings.Repeat("another line\n", 12) + strings.Repeat("0123456789abcdef\n", 4000)}
			maps.Copy(want, kept)
			expect.Equal(t, "files", want, must.Get(files(form(r), "main", "."))(t))
		})
	}
}

func (r *repository) clone(args ...string) string {
	r.TB.Helper()
	dir := r.TB.TempDir()
	r.Line(append(append([]string{"clone", "--quiet"}, args...), r.Dir, dir)...)
	return dir
}

// TestOnlyTheCommit: only the objects of a commit determine its content.
func TestOnlyTheCommit(t *testing.T) {
	other := newRepository(t, map[string]string{"signed/evil.yaml": "evil: true\n"})
	for name, change := range map[string]func(*testing.T, *repository){
		"the work tree": func(_ *testing.T, r *repository) { r.Write("signed/a.yaml", "evil: true\n") },
		"the index": func(_ *testing.T, r *repository) {
			r.Write("signed/a.yaml", "evil: true\n")
			r.Line("add", "--all")
		},
		"a replacement": func(_ *testing.T, r *repository) {
			good := r.Line("rev-parse", "HEAD:signed/a.yaml")
			r.Write("evil.yaml", "evil: true\n")
			r.Line("replace", good, r.Line("hash-object", "-w", "evil.yaml"))
		},
		"the configuration": func(_ *testing.T, r *repository) {
			r.Write(".git/config", "[core]\n\trepositoryformatversion = 0\n\tworktree = "+other.Dir+"\n[include]\n\tpath = "+other.Dir+"/.git/config\n")
		},
		"the environment": func(t *testing.T, _ *repository) {
			for name, path := range map[string]string{
				"DIR": ".git", "WORK_TREE": "", "INDEX_FILE": ".git/index", "OBJECT_DIRECTORY": ".git/objects",
				"ALTERNATE_OBJECT_DIRECTORIES": ".git/objects", "COMMON_DIR": ".git", "CONFIG_GLOBAL": ".git/config",
			} {
				t.Setenv("GIT_"+name, filepath.Join(other.Dir, path))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t, kept)
			change(t, r)
			want := map[string]string{"signed/a.yaml": "a: 1\n", "signed/team/b.json": "{}\n", "signed/team/c d\n.yml": "c: 1\n"}
			expect.Equal(t, "files", want, must.Get(files(r.Dir, "HEAD", "signed"))(t))
		})
	}
}

// TestErrors: folders that are not a repository, and repositories that Git cannot read.
func TestErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		dir  func(*repository) string
		want string
	}{
		"a folder below the root":      {func(r *repository) string { return r.Path("signed") }, "not a git repository"},
		"a file":                       {func(r *repository) string { return r.Path("README.md") }, "open repository"},
		"nothing":                      {func(r *repository) string { return r.Path("missing") }, "no such file"},
		"an object that is not here":   {func(r *repository) string { return r.partial("--bare") }, "partial"},
		"a configuration that is none": {func(r *repository) string { r.Write(".git/config", "[[["); return r.Dir }, "bad config line 1"},
		"a .git file that leads nowhere": {func(r *repository) string {
			dir := r.TB.TempDir()
			must.Do(r.TB, os.WriteFile(filepath.Join(dir, ".git"), []byte("gitdir: /nowhere\n"), 0o600))
			return dir
		}, "not a git repository"},
		"SHA-256": {func(r *repository) string {
			dir := r.TB.TempDir()
			r.Line("init", "--quiet", "--object-format=sha256", dir)
			return dir
		}, "only repositories with SHA-1"},
		"an unknown format": {func(r *repository) string {
			r.Line("config", "core.repositoryFormatVersion", "1")
			r.Line("config", "extensions.polex", "1")
			return r.Dir
		}, "unknown repository extension"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t, kept)
			expect.Failure(files(tc.dir(r), "HEAD", "signed"))(t, tc.want)
		})
	}
}

// partial returns a clone without the files that are not checked out.
func (r *repository) partial(options ...string) string {
	r.Line("config", "uploadpack.allowFilter", "true")
	return r.clone(append(options, "--filter=blob:none", "--no-local")...)
}

// TestPaths: the entries that paths lead to.
func TestPaths(t *testing.T) {
	r := newRepository(t, kept)
	must.Do(r.TB, os.Symlink("signed", r.Path("linked")))
	r.Commit("Link")
	for path, tc := range map[string]struct {
		files   int
		missing bool
		want    string
	}{
		".": {files: 6}, "signed": {files: 3}, "signed/team": {files: 2}, "signed/a.yaml": {files: 1}, "linked": {files: 1},
		"missing": {missing: true}, "signed/missing": {missing: true}, "sign": {missing: true}, "SIGNED": {missing: true},
		"signed/a.yaml/x": {want: "is not a folder"}, "linked/a.yaml": {want: "is not a folder"},
		"": {want: "outside"}, "/signed": {want: "outside"}, "../signed": {want: "outside"}, "signed/../signed": {want: "outside"}, "signed/": {want: "outside"},
		strings.Repeat("a/", 64) + "a": {want: "outside"},
	} {
		got, err := files(r.Dir, "main", path)
		t.Run(path, func(t *testing.T) {
			expect.Is(t, "missing", tc.missing, errors.Is(err, fs.ErrNotExist))
			if !tc.missing {
				expect.Outcome(t, err, tc.want)
			}
			expect.Is(t, "files", tc.files, len(got))
		})
	}
}

package git_test

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/test/expect"
)

// repository is a real Git repository, used with the real git.
type repository struct {
	tb  testing.TB
	dir string
}

func newRepository(tb testing.TB, files map[string]string) *repository {
	tb.Helper()
	r := &repository{tb: tb, dir: tb.TempDir()}
	r.git("init", "--quiet", "--initial-branch=main")
	for name, content := range files {
		r.write(name, content)
	}
	r.commit("Begin")
	return r
}

// git runs git with only the configuration of the repository.
func (r *repository) git(args ...string) string {
	r.tb.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	for _, setting := range os.Environ() {
		if !strings.HasPrefix(setting, "GIT_") {
			cmd.Env = append(cmd.Env, setting)
		}
	}
	cmd.Env = append(cmd.Env, "HOME="+r.dir, "XDG_CONFIG_HOME="+r.dir, "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C",
		"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.tb.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r *repository) write(name, content string) {
	r.tb.Helper()
	path := filepath.Join(r.dir, filepath.FromSlash(name))
	r.must(os.MkdirAll(filepath.Dir(path), 0o755))
	r.must(os.WriteFile(path, []byte(content), 0o644))
}

func (r *repository) must(err error) {
	r.tb.Helper()
	expect.OK(r.tb, err)
}

// commit commits everything and returns the hash.
func (r *repository) commit(message string) string {
	r.tb.Helper()
	r.git("add", "--all", "--force")
	r.git("commit", "--quiet", "--allow-empty", "--message="+message)
	return r.git("rev-parse", "HEAD")
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
		r.write("big.txt", content)
		r.commit("Grow")
	}
	return r
}

// TestClones: the content of a commit does not depend on the form of the clone.
func TestClones(t *testing.T) {
	for name, form := range map[string]func(*repository) string{
		"loose":  func(r *repository) string { return r.dir },
		"packed": func(r *repository) string { r.git("gc", "--quiet", "--aggressive"); return r.dir },
		"changes of named bases": func(r *repository) string {
			r.git("-c", "repack.useDeltaBaseOffset=false", "repack", "-a", "-d", "-f", "--quiet")
			return r.dir
		},
		"packed and loose": func(r *repository) string {
			r.git("gc", "--quiet")
			r.write("more.txt", "more\n")
			r.commit("More")
			r.git("revert", "--no-edit", "HEAD")
			return r.dir
		},
		"bare":       func(r *repository) string { return r.clone("--bare", "--no-local") },
		"mirror":     func(r *repository) string { return r.clone("--mirror") },
		"shallow":    func(r *repository) string { return r.clone("--depth=1", "--no-local") },
		"refs away":  func(r *repository) string { r.git("pack-refs", "--all"); return r.dir },
		".git alone": func(r *repository) string { return filepath.Join(r.dir, ".git") },
		"an index of several packs and a graph": func(r *repository) string {
			r.git("repack", "--quiet")
			r.git("multi-pack-index", "write")
			r.git("commit-graph", "write", "--reachable")
			return r.dir
		},
		"alternates":            func(r *repository) string { return r.clone("--shared") },
		"alternates of a clone": func(r *repository) string { return r.clone("--bare", "--no-local", "--reference="+r.dir) },
		"a linked work tree": func(r *repository) string {
			dir := filepath.Join(r.tb.TempDir(), "linked")
			r.git("worktree", "add", "--quiet", "--detach", dir)
			return dir
		},
		"a folder of a linked tree": func(r *repository) string {
			r.git("worktree", "add", "--quiet", "-b", "x", r.tb.TempDir()+"/x")
			return filepath.Join(r.dir, ".git", "worktrees", "x")
		},
		"a .git file": func(r *repository) string {
			return r.clone("--separate-git-dir="+filepath.Join(r.tb.TempDir(), "git"), "--no-local")
		},
		"a .git that is a link": func(r *repository) string {
			dir := r.tb.TempDir()
			r.must(os.Symlink(filepath.Join(r.dir, ".git"), filepath.Join(dir, ".git")))
			return dir
		},
		"objects that are a link": func(r *repository) string {
			elsewhere := filepath.Join(r.tb.TempDir(), "objects")
			r.must(os.Rename(filepath.Join(r.dir, ".git", "objects"), elsewhere))
			r.must(os.Symlink(elsewhere, filepath.Join(r.dir, ".git", "objects")))
			return r.dir
		},
		"sparse": func(r *repository) string {
			r.git("sparse-checkout", "set", "--cone", "--sparse-index", "signed")
			return r.dir
		},
		"partial with the needed objects": func(r *repository) string {
			r.git("config", "uploadpack.allowFilter", "true")
			dir := r.tb.TempDir()
			r.git("clone", "--quiet", "--filter=blob:none", "file://"+r.dir, dir)
			return dir
		},
		"a submodule": func(r *repository) string {
			outer := newRepository(r.tb, kept)
			outer.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", r.dir, "inner")
			return filepath.Join(outer.dir, "inner")
		},
		"core.worktree elsewhere": func(r *repository) string {
			r.git("config", "core.worktree", filepath.Join(r.dir, "nowhere"))
			return r.dir
		},
		"as core.bare": func(r *repository) string { r.git("config", "core.bare", "true"); return r.dir },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := grown(t)
			want := map[string]string{"big.txt": strings.Repeat("another line\n", 12) + strings.Repeat("0123456789abcdef\n", 4000)}
			maps.Copy(want, kept)
			expect.Equal(t, "files", want, expect.Value(files(form(r), "main", "."))(t))
		})
	}
}

func (r *repository) clone(args ...string) string {
	r.tb.Helper()
	dir := r.tb.TempDir()
	r.git(append(append([]string{"clone", "--quiet"}, args...), r.dir, dir)...)
	return dir
}

// TestOnlyTheCommit: only the objects of a commit determine its content.
func TestOnlyTheCommit(t *testing.T) {
	other := newRepository(t, map[string]string{"signed/evil.yaml": "evil: true\n"})
	for name, change := range map[string]func(*testing.T, *repository){
		"the work tree": func(_ *testing.T, r *repository) { r.write("signed/a.yaml", "evil: true\n") },
		"the index": func(_ *testing.T, r *repository) {
			r.write("signed/a.yaml", "evil: true\n")
			r.git("add", "--all")
		},
		"a replacement": func(_ *testing.T, r *repository) {
			good := r.git("rev-parse", "HEAD:signed/a.yaml")
			r.write("evil.yaml", "evil: true\n")
			r.git("replace", good, r.git("hash-object", "-w", "evil.yaml"))
		},
		"the configuration": func(_ *testing.T, r *repository) {
			r.write(".git/config", "[core]\n\trepositoryformatversion = 0\n\tworktree = "+other.dir+"\n[include]\n\tpath = "+other.dir+"/.git/config\n")
		},
		"the environment": func(t *testing.T, _ *repository) {
			for name, path := range map[string]string{
				"DIR": ".git", "WORK_TREE": "", "INDEX_FILE": ".git/index", "OBJECT_DIRECTORY": ".git/objects",
				"ALTERNATE_OBJECT_DIRECTORIES": ".git/objects", "COMMON_DIR": ".git", "CONFIG_GLOBAL": ".git/config",
			} {
				t.Setenv("GIT_"+name, filepath.Join(other.dir, path))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t, kept)
			change(t, r)
			want := map[string]string{"signed/a.yaml": "a: 1\n", "signed/team/b.json": "{}\n", "signed/team/c d\n.yml": "c: 1\n"}
			expect.Equal(t, "files", want, expect.Value(files(r.dir, "HEAD", "signed"))(t))
		})
	}
}

// TestErrors: folders that are not a repository, and repositories that Git cannot read.
func TestErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		dir  func(*repository) string
		want string
	}{
		"a folder below the root":    {func(r *repository) string { return filepath.Join(r.dir, "signed") }, "not a git repository"},
		"a file":                     {func(r *repository) string { return filepath.Join(r.dir, "README.md") }, "open repository"},
		"nothing":                    {func(r *repository) string { return filepath.Join(r.dir, "missing") }, "no such file"},
		"an object that is not here": {func(r *repository) string { return r.partial() }, "partial"},
		"a configuration that is none": {func(r *repository) string {
			r.write(".git/config", "[[[")
			return r.dir
		}, "bad config line 1"},
		"a .git file that leads nowhere": {func(r *repository) string {
			dir := r.tb.TempDir()
			r.must(os.WriteFile(filepath.Join(dir, ".git"), []byte("gitdir: /nowhere\n"), 0o600))
			return dir
		}, "not a git repository"},
		"SHA-256": {func(r *repository) string {
			dir := r.tb.TempDir()
			r.git("init", "--quiet", "--object-format=sha256", dir)
			return dir
		}, "only repositories with SHA-1"},
		"an unknown format": {func(r *repository) string {
			r.git("config", "core.repositoryFormatVersion", "1")
			r.git("config", "extensions.polex", "1")
			return r.dir
		}, "unknown repository extension"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t, kept)
			expect.Failure(files(tc.dir(r), "HEAD", "signed"))(t, tc.want)
		})
	}
}

// partial returns a clone without the files.
func (r *repository) partial() string {
	r.git("config", "uploadpack.allowFilter", "true")
	dir := r.tb.TempDir()
	r.git("clone", "--quiet", "--bare", "--filter=blob:none", "file://"+r.dir, dir)
	return dir
}

// TestPaths: the entries that paths lead to.
func TestPaths(t *testing.T) {
	r := newRepository(t, kept)
	r.must(os.Symlink("signed", filepath.Join(r.dir, "linked")))
	r.commit("Link")
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
		got, err := files(r.dir, "main", path)
		t.Run(path, func(t *testing.T) {
			expect.Is(t, "missing", tc.missing, errors.Is(err, fs.ErrNotExist))
			if !tc.missing {
				expect.Outcome(t, err, tc.want)
			}
			expect.Is(t, "files", tc.files, len(got))
		})
	}
}

package git_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// branched returns a repository with two commits and names for them.
func branched(t *testing.T) (r *repository, first, second string) {
	r = newRepository(t, map[string]string{"a.yaml": "a: 1\n"})
	first = r.Head()
	for _, command := range []string{
		"tag light", "tag --annotate --message=x heavy", "tag --annotate --message=x heavier heavy",
		"update-ref refs/remotes/origin/main HEAD", "update-ref refs/pull/7/merge HEAD", "branch same", "tag same", "tag both",
	} {
		r.Git(strings.Fields(command)...)
	}
	second = r.CommitFile("Go on", "b.yaml", "b: 1\n")
	for _, branch := range []string{"both", "feature/x", strings.Repeat("a", 40)} {
		r.Git("branch", branch, second)
	}
	return r, first, second
}

func resolve(dir, revision string) (string, error) {
	r, err := git.Open(context.Background(), dir)
	if err != nil {
		return "", err
	}
	defer r.Close()
	hash, err := r.Resolve(revision)
	if err != nil {
		return "", err
	}
	return hash.String(), nil
}

func TestResolve(t *testing.T) {
	for _, packed := range []bool{false, true} {
		r, first, second := branched(t)
		if packed {
			r.Line("gc", "--quiet")
		}
		for revision, want := range map[string]string{
			"HEAD": second, "main": second, "refs/heads/main": second, "feature/x": second, second: second, strings.ToUpper(second): second,
			"light": first, "heavy": first, "heavier": first, "refs/tags/heavy": first, r.Line("rev-parse", "heavy"): first,
			"origin/main": first, "refs/remotes/origin/main": first, "refs/pull/7/merge": first, "same": first,
			"refs/heads/both": second, "refs/tags/both": first,
		} {
			got := must.Get(resolve(r.Dir, revision))(t)
			expect.Is(t, fmt.Sprintf("packed %v: %s", packed, revision), want, got)
		}
		// A loose reference has precedence over a packed one.
		r.Line("update-ref", "refs/heads/main", first)
		expect.Is(t, "moved", first, must.Get(resolve(r.Dir, "main"))(t))
	}
}

func TestRevisionErrors(t *testing.T) {
	r, first, _ := branched(t)
	for revision, want := range map[string]string{
		strings.Repeat("0", 40): "does not have it", r.Line("rev-parse", "HEAD:a.yaml"): "not a commit",
	} {
		expect.Failure(resolve(r.Dir, revision))(t, want)
	}
	type report struct{ want, hint string }
	reports := map[string]report{
		first[:10]: {"does not have it", "write the whole hash"},
		"both":     {"refs/tags/both and refs/heads/both are different commits", "full name"},
	}
	for _, revision := range []string{"missing", "refs/heads/missing", "FETCH_HEAD", "config", "refs", "heads", "-x"} {
		reports[revision] = report{"does not have it", "git fetch"}
	}
	for _, revision := range []string{
		"", "@", "main~1", "main^", "main^{tree}", "main@{1}", "main:a.yaml", "refs/heads/a..b", "../../secret", "/etc/passwd",
		"refs/heads/../../config", "a b", "a\nb", "a\x00b", `a\b`, "main.lock", ".hidden", "main/", strings.Repeat("x", 2000),
	} {
		reports[revision] = report{"not the name of a commit", "git rev-parse"}
	}
	for revision, tc := range reports {
		_, err := resolve(r.Dir, revision)
		var bad *git.RevisionError
		switch {
		case !errors.As(err, &bad):
			t.Errorf("%q: %v, want a RevisionError", revision, err)
		case !strings.Contains(bad.Error(), tc.want) || !strings.Contains(bad.Hint(), tc.hint):
			t.Errorf("%q: %v (%s), want %q and %q", revision, bad, bad.Hint(), tc.want, tc.hint)
		case bad.Malformed != (tc.want == "not the name of a commit") || (git.CheckRevision(revision) != nil) != bad.Malformed:
			t.Errorf("%q: malformed %v", revision, bad.Malformed)
		}
	}
}

// TestBranch: HEAD is a branch, a branch without a commit, a commit, or invalid.
func TestBranch(t *testing.T) {
	r, first, _ := branched(t)
	for head, want := range map[string]string{
		"ref: refs/heads/main": "refs/heads/main", "ref: refs/heads/none": "refs/heads/none", first: "",
	} {
		r.Write(".git/HEAD", head+"\n")
		repository, _ := opened(t, r.Dir)
		expect.Is(t, head, want, must.Get(repository.Branch())(t))
	}
}

// TestReferencesThatLie: references of a hostile repository.
func TestReferencesThatLie(t *testing.T) {
	packed := func(content string) func(*repository) {
		return func(r *repository) { r.Line("pack-refs", "--all"); r.Write(".git/packed-refs", content) }
	}
	for name, tc := range map[string]struct {
		prepare func(*repository)
		want    string
	}{
		"HEAD leads out":          {func(r *repository) { r.Write(".git/HEAD", "ref: ../../secret\n") }, "not a git repository"},
		"HEAD leads out deeper":   {func(r *repository) { r.Write(".git/HEAD", "ref: refs/../../secret\n") }, "read the branch of HEAD"},
		"HEAD leads to config":    {func(r *repository) { r.Write(".git/HEAD", "ref: config\n") }, "not a git repository"},
		"no branch yet":           {func(r *repository) { r.Write(".git/HEAD", "ref: refs/heads/none\n") }, "no commits yet"},
		"a circle":                {func(r *repository) { r.Write(".git/refs/heads/main", "ref: refs/heads/main\n") }, "read the branch of HEAD"},
		"no hash":                 {func(r *repository) { r.Write(".git/refs/heads/main", "zzz\n") }, "read the branch of HEAD"},
		"SHA-256":                 {func(r *repository) { r.Write(".git/refs/heads/main", strings.Repeat("a", 64)) }, "read the branch of HEAD"},
		"a whole book":            {func(r *repository) { r.Write(".git/refs/heads/main", strings.Repeat("a", 5000)) }, "read the branch of HEAD"},
		"a file":                  {func(r *repository) { r.Write(".git/refs/heads/main", r.Line("rev-parse", "HEAD:a.yaml")) }, "a blob, not a commit"},
		"a tree":                  {func(r *repository) { r.Write(".git/refs/heads/main", r.Line("rev-parse", "HEAD^{tree}")) }, "a tree, not a commit"},
		"nothing there":           {func(r *repository) { r.Write(".git/refs/heads/main", strings.Repeat("a", 40)) }, "does not have it"},
		"packed-refs of garbage":  {packed("\xff refs/heads/main\n"), "unexpected line in"},
		"packed-refs of one line": {packed(strings.Repeat("x", 1<<20)), "packed-refs"},
		"a link": {func(r *repository) {
			secret := filepath.Join(r.TB.TempDir(), "secret")
			must.Do(r.TB, os.WriteFile(secret, []byte("secret"), 0o600))
			must.Do(r.TB, os.Remove(r.Path(".git/refs/heads/main")))
			must.Do(r.TB, os.Symlink(secret, r.Path(".git/refs/heads/main")))
		}, "read the branch of HEAD"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t, map[string]string{"a.yaml": "a: 1\n"})
			tc.prepare(r)
			expect.Failure(resolve(r.Dir, "HEAD"))(t, tc.want)
		})
	}
}

// TestHostileSettings: nothing in the repository of others and in the environment makes Git run a
// program, connect to a server, write a file or read other content.
func TestHostileSettings(t *testing.T) {
	server := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer server.Close()
	address := server.Addr().String()
	var connections atomic.Int32
	go func() {
		for c, err := server.Accept(); err == nil; c, err = server.Accept() {
			connections.Add(1)
			_ = c.Close()
		}
	}()
	type hostile struct {
		config string // MARK is a program that leaves a file, FILE that file
		env    []string
		// missing removes an object, which Git then fetches. works means that without the rules of
		// this package the program runs or the server is asked.
		missing, works bool
	}
	// fetch is a fetch of an object from an address, with further settings, that works in a plain Git.
	fetch := func(url, more string, env ...string) hostile {
		return hostile{"[remote \"x\"]\n\tpromisor = true\n\turl = " + url + "\n" + more, env, true, true}
	}
	bundle := fetch("http://"+address+"/x", "[fetch]\n\tbundleURI = http://"+address+"/b\n")
	bundle.works = false
	for name, tc := range map[string]hostile{
		"fetch with a helper":                 fetch(`"ext::MARK"`, "[protocol \"ext\"]\n\tallow = always\n"),
		"fetch with a helper that is allowed": fetch(`"ext::MARK"`, "", "GIT_ALLOW_PROTOCOL=ext:file:ssh", "GIT_NO_LAZY_FETCH=0"),
		"fetch by ssh":                        fetch("ssh://localhost/x", "[core]\n\tsshCommand = MARK\n"),
		"fetch from a folder":                 fetch(".", "\tuploadpack = MARK\n"),
		"fetch by a proxy":                    fetch("git://localhost/x", "[core]\n\tgitProxy = MARK\n"),
		"fetch from a server":                 fetch("git://"+address+"/x", ""),
		"fetch a bundle":                      bundle,
		"programs": {config: "[core]\n\tfsmonitor = MARK\n\talternateRefsCommand = MARK\n\tpager = MARK\n\teditor = MARK\n\taskPass = MARK\n" +
			"[pager]\n\tcat-file = MARK\n\trev-parse = MARK\n\tfor-each-ref = MARK\n[alias]\n\tcat-file = !MARK\n\trev-parse = !MARK\n\tfor-each-ref = !MARK\n\tsymbolic-ref = !MARK\n" +
			"[filter \"x\"]\n\tclean = MARK\n\tsmudge = MARK\n\tprocess = MARK\n\trequired = true\n[diff]\n\texternal = MARK\n[diff \"x\"]\n\ttextconv = MARK\n\tcommand = MARK\n" +
			"[gpg]\n\tprogram = MARK\n[credential]\n\thelper = !MARK\n[sequence]\n\teditor = MARK\n[uploadpack]\n\tpackObjectsHook = MARK\n[log]\n\tshowSignature = true\n"},
		"hooks":              {config: "[core]\n\thooksPath = HOOKS\n"},
		"an included file":   {config: "[include]\n\tpath = included\n[includeIf \"gitdir:**\"]\n\tpath = included\n"},
		"a trace":            {config: "[trace2]\n\tnormalTarget = FILE\n\teventTarget = FILE\n\tperfTarget = FILE\n"},
		"another work tree":  {config: "[core]\n\tworktree = /\n"},
		"a strange worktree": {config: "[core]\n\tworktree = nowhere/at/all\n\tbare = true\n"},
		"limits":             {config: "[core]\n\tbigFileThreshold = 1\n\tdeltaBaseCacheLimit = 0\n\tpackedGitLimit = 1\n\tpackedGitWindowSize = 1\n"},
		"the environment": {env: []string{"GIT_TRACE=FILE", "GIT_TRACE2=FILE", "GIT_TRACE_SETUP=FILE", "GIT_PAGER=MARK", "GIT_EXTERNAL_DIFF=MARK", "GIT_SSH_COMMAND=MARK",
			"GIT_ASKPASS=MARK", "GIT_EDITOR=MARK", "GIT_REPLACE_REF_BASE=refs/heads/", "GIT_NAMESPACE=x", "GIT_SHALLOW_FILE=FILE", "GIT_GRAFT_FILE=FILE",
			"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=alias.cat-file", "GIT_CONFIG_VALUE_0=!MARK", "GIT_CONFIG_PARAMETERS='core.pager'='MARK'", "GIT_EXEC_PATH=HOOKS", "GIT_REF_PARANOIA=1"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t, kept)
			r.Write("signed/.gitattributes", "* filter=x diff=x\n")
			head := r.Commit("Attributes")
			r.Write(".git/info/grafts", head+"\n")
			outside := t.TempDir()
			file, mark := filepath.Join(outside, "file"), filepath.Join(outside, "mark")
			must.Do(r.TB, os.WriteFile(mark, []byte("#!/bin/sh\n: > '"+file+"'\nexit 1\n"), 0o755))
			for _, hook := range []string{"reference-transaction", "post-index-change", "post-checkout", "git-cat-file", "git-remote-http", "git"} {
				must.Do(r.TB, os.Symlink(mark, filepath.Join(outside, hook)))
			}
			known := strings.NewReplacer("MARK", mark, "FILE", file, "HOOKS", outside)
			want := must.Get(files(r.Dir, "HEAD", "signed"))(t)
			if tc.missing {
				r.Line("config", "core.repositoryFormatVersion", "1")
				r.Line("config", "extensions.partialClone", "x")
				name := r.Line("rev-parse", "HEAD:signed/a.yaml")
				must.Do(r.TB, os.Remove(filepath.Join(r.Dir, ".git", "objects", name[:2], name[2:])))
			}
			r.Write(".git/config", r.Read(".git/config")+known.Replace(tc.config))
			r.Write(".git/included", known.Replace("[alias]\n\tcat-file = !MARK\n[core]\n\tfsmonitor = MARK\n"))
			for _, variable := range tc.env {
				key, value, _ := strings.Cut(known.Replace(variable), "=")
				t.Setenv(key, value)
			}
			marked := func() bool {
				_, err := os.Lstat(file)
				return !errors.Is(err, os.ErrNotExist)
			}
			before := connections.Load()
			contacted := func() bool { return connections.Load() > before }
			got, err := files(r.Dir, "HEAD", "signed")
			if tc.missing {
				expect.Failure(got, err)(t, "partial")
			} else {
				expect.Is(t, "files", len(want), len(must.Get(got, err)(t)))
			}
			if opened, err := git.Open(t.Context(), r.Dir); err == nil {
				must.Get(opened.Head())(t)
				must.Do(r.TB, opened.Close())
			}
			expect.Is(t, "a program ran", false, marked())
			expect.Is(t, "a server was asked", false, contacted())
			if tc.works {
				plain := exec.Command("git", "cat-file", "-p", "HEAD:signed/a.yaml")
				plain.Dir = r.Dir
				out, _ := plain.CombinedOutput()
				expect.That(t, marked() || contacted(), "the case does not work in a plain Git: %s", out)
			}
		})
	}
}

// TestOtherOwner: the repository of another user is read, because its settings have no effect.
func TestOtherOwner(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give a file to another user")
	}
	r := newRepository(t, kept)
	must.Do(r.TB, exec.Command("chown", "-R", "12345", r.Dir).Run())
	got, err := files(r.Dir, "HEAD", "signed")
	expect.That(t, err == nil && len(got) == 3, "%q, %v", got, err)
}

// TestAllocLimit: every run of Git in a repository of others has a limit for its memory, and none in the caller's own.
func TestAllocLimit(t *testing.T) {
	for own, want := range map[bool]bool{true: false, false: true} {
		command := git.Git{Dir: t.TempDir(), Own: own}.Command(t.Context(), git.Call{}, "for-each-ref")
		limited := slices.ContainsFunc(command.Env, func(v string) bool { return strings.HasPrefix(v, "GIT_ALLOC_LIMIT=") })
		expect.Is(t, fmt.Sprintf("own %t: limited", own), want, limited)
	}
}

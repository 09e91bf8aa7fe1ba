package repository_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/polex-dev/polex/internal/guard/repository"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
)

// origin is a real Git repository, made with the git command.
type origin struct {
	tb  testing.TB
	dir string
}

func newOrigin(tb testing.TB, files map[string]string) *origin {
	tb.Helper()
	o := &origin{tb: tb, dir: tb.TempDir()}
	o.git("init", "--quiet", "--initial-branch=main")
	o.commit(files)
	return o
}

// git runs git without the configuration of a user or the system.
func (o *origin) git(args ...string) string {
	o.tb.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = o.dir
	for _, setting := range os.Environ() {
		if !strings.HasPrefix(setting, "GIT_") {
			cmd.Env = append(cmd.Env, setting)
		}
	}
	cmd.Env = append(cmd.Env, "HOME="+o.dir, "XDG_CONFIG_HOME="+o.dir, "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C",
		"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		o.tb.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit writes files. A content with the prefix "-> " is a link.
func (o *origin) commit(files map[string]string) {
	o.tb.Helper()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		at := filepath.Join(o.dir, filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(at), 0o755)
		if target, link := strings.CutPrefix(files[name], "-> "); err == nil && link {
			err = os.Symlink(target, at)
		} else if err == nil {
			err = os.WriteFile(at, []byte(files[name]), 0o644)
		}
		if err != nil {
			o.tb.Fatal(err)
		}
	}
	o.git("add", "--all", "--force")
	o.git("commit", "--quiet", "--allow-empty", "--message=Change")
}

// clone clones the repository with these flags of git.
func (o *origin) clone(flags ...string) *origin {
	o.tb.Helper()
	o.git("config", "uploadpack.allowFilter", "true")
	other := &origin{tb: o.tb, dir: filepath.Join(o.tb.TempDir(), "clone")}
	o.git(append(append([]string{"clone", "--quiet"}, flags...), "file://"+o.dir, other.dir)...)
	return other
}

// sealed returns a signed exception and the digest of its message. Its signature is not verified
// here.
func sealed(tb testing.TB, name string) (text, digest string) {
	tb.Helper()
	doc, err := exception.Parse([]byte("apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: "+name+"}\n"), name)
	if err != nil {
		tb.Fatal(err)
	}
	message, err := seal.Message(doc)
	if err != nil {
		tb.Fatal(err)
	}
	whole, err := seal.Attach(doc, &seal.Seal{Message: message, Signatures: []seal.Signature{{Signature: []byte("x")}}})
	if err != nil {
		tb.Fatal(err)
	}
	sum := sha256.Sum256(message)
	return string(whole.Source()), "sha256:" + hex.EncodeToString(sum[:])
}

const unsealed = "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: unsealed}\n"

// TestRead: Read returns the messages of all signed documents and no others, for every storage
// format of Git.
func TestRead(t *testing.T) {
	a, ofA := sealed(t, "a")
	b, ofB := sealed(t, "b")
	c, ofC := sealed(t, "c")
	d, ofD := sealed(t, "d")
	o := newOrigin(t, map[string]string{
		"signed/a.yaml": a, "signed/deep/b-and-c.yml": b + "---\n" + unsealed + "---\n" + c, "signed/README.md": d, "signed/latest": "-> a.yaml",
		"signed/unsealed.json": `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}`,
		"prod/d":               d, "unsigned/d.yaml": d,
	})
	o.git("branch", "old")
	o.commit(map[string]string{"signed/a.yaml": d})
	packed := o.clone()
	packed.git("gc", "--quiet", "--aggressive")
	for name, tc := range map[string]struct {
		reader repository.Reader
		want   []string
	}{
		"HEAD":               {repository.Reader{Dir: o.dir, Revision: "HEAD", Paths: []string{"signed"}}, []string{ofB, ofC, ofD}},
		"a branch":           {repository.Reader{Dir: o.dir, Revision: "old", Paths: []string{"signed"}}, []string{ofA, ofB, ofC}},
		"a folder below":     {repository.Reader{Dir: o.dir, Revision: "old", Paths: []string{"signed/deep"}}, []string{ofB, ofC}},
		"a file, and others": {repository.Reader{Dir: o.dir, Revision: "old", Paths: []string{"prod/d", "signed/deep"}}, []string{ofB, ofC, ofD}},
		"all of it":          {repository.Reader{Dir: o.dir, Revision: "old", Paths: []string{"."}}, []string{ofA, ofB, ofC, ofD}},
		"no exception":       {repository.Reader{Dir: o.dir, Revision: "old", Paths: []string{"signed/unsealed.json"}}, nil},
		"bare":               {repository.Reader{Dir: o.clone("--bare").dir, Revision: "main", Paths: []string{"signed"}}, []string{ofB, ofC, ofD}},
		"shallow":            {repository.Reader{Dir: o.clone("--depth=1", "--no-checkout").dir, Revision: "HEAD", Paths: []string{"signed"}}, []string{ofB, ofC, ofD}},
		"packed":             {repository.Reader{Dir: packed.dir, Revision: "HEAD", Paths: []string{"signed"}}, []string{ofB, ofC, ofD}},
	} {
		t.Run(name, func(t *testing.T) {
			commit, err := tc.reader.Read(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			got := slices.Sorted(maps.Keys(commit.Messages))
			slices.Sort(tc.want)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestState: a commit without changes in the paths is not read again.
func TestState(t *testing.T) {
	a, _ := sealed(t, "a")
	o := newOrigin(t, map[string]string{"signed/a.yaml": a})
	reader := repository.Reader{Dir: o.dir, Revision: "HEAD", Paths: []string{"signed"}}
	first, err := reader.Read(t.Context(), "")
	if err != nil || first.Hash != o.git("rev-parse", "HEAD") {
		t.Fatalf("%v, %v", first, err)
	}
	o.commit(map[string]string{"unsigned/b.yaml": unsealed})
	if again, err := reader.Read(t.Context(), first.State); again != nil || err != nil {
		t.Errorf("%v, %v, want nothing new", again, err)
	}
	o.commit(map[string]string{"signed/b.yaml": unsealed})
	if again, err := reader.Read(t.Context(), first.State); again == nil || err != nil || again.Hash == first.Hash {
		t.Errorf("%v, %v, want another commit", again, err)
	}
	reader.Paths = []string{"."}
	if again, err := reader.Read(t.Context(), first.State); again == nil || err != nil {
		t.Errorf("%v, %v, want what another path holds", again, err)
	}
}

// TestUnreadable: one unreadable part makes the whole result an error.
func TestUnreadable(t *testing.T) {
	a, _ := sealed(t, "a")
	b, _ := sealed(t, "b")
	good := map[string]string{"signed/a.yaml": a, "signed/b.yaml": b}
	with := func(more map[string]string) *origin {
		files := maps.Clone(good)
		maps.Copy(files, more)
		return newOrigin(t, files)
	}
	lacks := func(object string) *origin {
		o := with(nil)
		hash := o.git("rev-parse", object)
		if err := os.Remove(filepath.Join(o.dir, ".git", "objects", hash[:2], hash[2:])); err != nil {
			t.Fatal(err)
		}
		return o
	}
	empty := &origin{tb: t, dir: t.TempDir()}
	empty.git("init", "--quiet", "--bare", "--initial-branch=main")
	worktree := with(nil)
	linked := filepath.Join(t.TempDir(), "linked")
	worktree.git("worktree", "add", "--quiet", "--detach", linked)
	executable := with(nil)
	executable.git("update-index", "--chmod=+x", "signed/a.yaml")
	executable.git("commit", "--quiet", "--message", "Make it executable")

	for name, tc := range map[string]struct {
		reader repository.Reader
		want   string
	}{
		"no folder":             {repository.Reader{Dir: filepath.Join(t.TempDir(), "none")}, "open repository"},
		"no repository":         {repository.Reader{Dir: t.TempDir()}, "not a Git repository"},
		"nothing fetched yet":   {repository.Reader{Dir: empty.dir}, "the repository has no commits yet"},
		"a work tree elsewhere": {repository.Reader{Dir: linked}, "points to a repository"},
		"no such revision":      {repository.Reader{Dir: with(nil).dir, Revision: "none"}, "the repository does not have it"},
		"no such path":          {repository.Reader{Dir: with(nil).dir, Paths: []string{"sealed"}}, `has no "sealed"`},
		"one of two paths":      {repository.Reader{Dir: with(nil).dir, Paths: []string{"signed", "sealed"}}, `has no "sealed"`},
		"without the commit":    {repository.Reader{Dir: lacks("HEAD").dir}, "the repository does not have it"},
		"without its tree":      {repository.Reader{Dir: lacks("HEAD^{tree}").dir}, "the repository does not have it"},
		"without the folder":    {repository.Reader{Dir: lacks("HEAD:signed").dir}, "the repository does not have it"},
		"without a file":        {repository.Reader{Dir: lacks("HEAD:signed/b.yaml").dir}, "the repository does not have it"},
		"a partial clone":       {repository.Reader{Dir: with(nil).clone("--bare", "--filter=tree:0").dir}, "the repository does not have it"},
		"no YAML":               {repository.Reader{Dir: with(map[string]string{"signed/c.yaml": "a: [\n"}).dir}, `"signed/c.yaml": `},
		"a key twice":           {repository.Reader{Dir: with(map[string]string{"signed/c.yaml": a + "kind: x\n"}).dir}, `"signed/c.yaml": `},
		"half a seal": {repository.Reader{Dir: with(map[string]string{
			"signed/c.yaml": "kind: x\nmetadata: {annotations: {cosign.sigstore.dev/message: x}}\n"}).dir}, "its signature annotations cannot be read"},
		"a link":                 {repository.Reader{Dir: with(map[string]string{"signed/c.yaml": "-> a.yaml"}).dir}, `"signed/c.yaml" is a link`},
		"a link to a folder":     {repository.Reader{Dir: with(map[string]string{"signed/c": "-> ../signed"}).dir}, `"signed/c" is a link`},
		"an executable file":     {repository.Reader{Dir: executable.dir}, `"signed/a.yaml" is executable`},
		"one that is named":      {repository.Reader{Dir: executable.dir, Paths: []string{"signed/a.yaml"}}, `"signed/a.yaml" is executable`},
		"a link out":             {repository.Reader{Dir: with(map[string]string{"signed/c": "-> /etc/passwd"}).dir}, `"signed/c" is a link`},
		"a path that is a link":  {repository.Reader{Dir: with(map[string]string{"c": "-> signed"}).dir, Paths: []string{"c"}}, `"c" is a link`},
		"more bytes than may be": {repository.Reader{Dir: with(nil).dir, MaxBytes: len(a) + len(b)}, "too large together"},
		"more than may be":       {repository.Reader{Dir: with(nil).dir, MaxMessages: 1}, "too many signed documents"},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.reader.Revision == "" {
				tc.reader.Revision = "HEAD"
			}
			if tc.reader.Paths == nil {
				tc.reader.Paths = []string{"signed"}
			}
			commit, err := tc.reader.Read(t.Context(), "")
			if commit != nil || err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, %v, want an error that says %q", commit, err, tc.want)
			}
		})
	}
}

// TestCancelled: a cancelled context stops the read.
func TestCancelled(t *testing.T) {
	a, _ := sealed(t, "a")
	o := newOrigin(t, map[string]string{"signed/a.yaml": a})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (repository.Reader{Dir: o.dir, Revision: "HEAD", Paths: []string{"signed"}}).Read(ctx, ""); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func BenchmarkRead(b *testing.B) {
	files := map[string]string{}
	for n := range 1000 {
		name := fmt.Sprintf("signed/e%d.yaml", n)
		files[name], _ = sealed(b, fmt.Sprintf("e%d", n))
	}
	o := newOrigin(b, files)
	for b.Loop() {
		if _, err := (repository.Reader{Dir: o.dir, Revision: "HEAD", Paths: []string{"signed"}}).Read(b.Context(), ""); err != nil {
			b.Fatal(err)
		}
	}
}

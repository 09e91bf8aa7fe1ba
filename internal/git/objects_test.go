package git_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/gitrepo"
	"github.com/polex-dev/polex/test/must"
)

// answering makes git cat-file write fixed answers to any request.
func answering(t *testing.T, answers string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "answers")
	must.Do(t, os.WriteFile(path, []byte(answers), 0o600))
	gitrepo.Instead(t, "cat-file", "cat '"+path+"'; exec cat >/dev/null")
}

// TestGitThatLies: an answer of git cat-file is compared with the request, and the content with its hash.
func TestGitThatLies(t *testing.T) {
	hash := git.HashOf(blob, small).String()
	info := hash + " blob 5\n"
	for name, tc := range map[string]struct{ answers, want string }{
		"honest":             {info + info + "a: 1\n\n", ""},
		"other content":      {info + info + "a: 2\n\n", "the content does not match the hash"},
		"another kind":       {hash + " tree 5\n" + hash + " tree 5\na: 1\n\n", "the content does not match the hash"},
		"another kind later": {info + hash + " tree 5\na: 1\n\n", "and then a tree of 5"},
		"more later":         {info + hash + " blob 33554433\n", "and then a blob of 33554433"},
		"another object":     {strings.Repeat("0", 40) + " blob 5\n", "unexpected answer"},
		"an unknown kind":    {hash + " secret 5\n", "unexpected answer"},
		"no size":            {hash + " blob\n", "unexpected answer"},
		"claims less":        {hash + " blob -1\n", "unexpected answer"},
		"claims the utmost":  {hash + " blob 9223372036854775806\n", "too large"},
		"claims more":        {hash + " blob 9223372036854775808\n", "unexpected answer"},
		"cut off":            {info + info + "a: 1\n", "unexpected EOF"},
		"longer":             {info + info + "a: 1\nx\n", "does not end after 5 bytes"},
		"silent":             {"", "unexpected EOF"},
		"without a line end": {strings.Repeat("x", 1<<20), "buffer full"},
		"missing":            {hash + " missing\n", "does not have it"},
		"too large":          {hash + " blob 33554433\n", "too large: 33554433 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newForge(t)
			answering(t, tc.answers)
			r := must.Get(git.Open(t.Context(), f.dir))(t)
			defer r.Close()
			got, err := r.Blob(git.NewHash(hash))
			if tc.want == "" {
				expect.Equal(t, "content", small, must.Get(got, err)(t))
				return
			}
			expect.Error(t, err, tc.want)
			expect.That(t, !strings.Contains(tc.want, "too large") || errors.Is(err, git.ErrTooLarge),
				"%v is not ErrTooLarge", err)
		})
	}
}

// TestGitThatFails: a Git that is missing, too old, killed or silent is an error with the reason, and
// the next object is asked of another process.
func TestGitThatFails(t *testing.T) {
	for name, tc := range map[string]struct{ of, script, want string }{
		"missing":        {"", "none", "polex requires Git 2.38 or later"},
		"too old":        {"cat-file", `echo "error: unknown option" >&2; exit 129`, "unknown option: polex requires Git 2.38 or later"},
		"too old at all": {"rev-parse", `echo "error: unknown option" >&2; exit 129`, "unknown option: polex requires Git 2.38 or later"},
		"fails":          {"cat-file", `read line; echo "fatal: it is damaged" >&2; exit 128`, "fatal: it is damaged"},
		"killed":         {"cat-file", `read line; kill -9 $$`, "unexpected EOF"},
		"silent":         {"cat-file", `exec sleep 1000`, "git cat-file did not answer within"},
		"silent at all":  {"for-each-ref", `exec sleep 1000`, "git for-each-ref did not answer within"},
		"another format": {"rev-parse", `echo sha256; echo /x; exit`, "only repositories with SHA-1"},
		"nonsense":       {"for-each-ref", `echo nonsense; exit`, `git for-each-ref answered "nonsense`},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepository(t, kept)
			if tc.script == "none" {
				t.Setenv("PATH", t.TempDir())
			} else {
				gitrepo.Instead(t, tc.of, tc.script)
			}
			if strings.Contains(tc.want, "within") {
				t.Cleanup(git.AnswerWithin(time.Second))
			}
			expect.Failure(files(r.Dir, "main", "."))(t, tc.want)
		})
	}
	t.Run("once", func(t *testing.T) {
		r := newRepository(t, kept)
		first := filepath.Join(r.Dir, "first")
		gitrepo.Instead(t, "cat-file", `if ! [ -e '`+first+`' ]; then touch '`+first+`'; read line; exit 1; fi`)
		opened := must.Get(git.Open(t.Context(), r.Dir))(t)
		defer opened.Close()
		hash := git.NewHash(r.Head())
		expect.Failure(opened.Commit(hash))(t, "unexpected EOF")
		must.Get(opened.Commit(hash))(t)
	})
}

// TestEndOfContext: the processes end with the context.
func TestEndOfContext(t *testing.T) {
	r := newRepository(t, kept)
	ctx, cancel := context.WithCancelCause(t.Context())
	opened := must.Get(git.Open(ctx, r.Dir))(t)
	defer opened.Close()
	hash := git.NewHash(r.Head())
	must.Get(opened.Commit(hash))(t)
	cause := errors.New("enough")
	cancel(cause)
	for range 2 {
		_, err := opened.Commit(hash)
		expect.That(t, errors.Is(err, cause) || errors.Is(err, context.Canceled), "it ended with %v", err)
	}
	_, err := opened.Resolve("HEAD")
	expect.Cause(t, err, cause)
}

// TestEndOfContextWhileReading: a request that waits for Git ends with the context.
func TestEndOfContextWhileReading(t *testing.T) {
	r := newRepository(t, kept)
	hash := git.NewHash(r.Head())
	reached := filepath.Join(t.TempDir(), "reached")
	must.Do(r.TB, exec.Command("mkfifo", reached).Run())
	gitrepo.Instead(t, "cat-file", `read line; echo > '`+reached+`'; exec sleep 1000`)
	ctx, cancel := context.WithCancel(t.Context())
	opened := must.Get(git.Open(ctx, r.Dir))(t)
	defer opened.Close()
	go func() {
		_, _ = os.ReadFile(reached) // until Git has the request
		cancel()
	}()
	_, err := opened.Commit(hash)
	expect.Cause(t, err, context.Canceled)
}

// TestMessagesThatHide: a reference that Git cannot read is an error, however much Git says before it.
func TestMessagesThatHide(t *testing.T) {
	r := newRepository(t, map[string]string{"a": "1"})
	gitrepo.Instead(t, "for-each-ref", `printf '%09000d\nwarning: ignoring broken ref refs/tags/main\n' 0 >&2`)
	expect.Failure(resolve(r.Dir, "main"))(t)
}

// FuzzPack changes one byte of a pack or its index. All content that is still readable must be unchanged.
func FuzzPack(f *testing.F) {
	r := newRepository(f, kept)
	for i := range 4 {
		r.Write("signed/a.yaml", string(make([]byte, 200*i))+"a: 1\n")
		r.Commit("Change")
	}
	r.Line("gc", "--quiet", "--aggressive")
	want := must.Get(files(r.Dir, "HEAD", "."))(f)
	packs := must.Get(filepath.Glob(filepath.Join(r.Dir, ".git", "objects", "pack", "pack-*")))(f)
	contents := map[string][]byte{}
	for _, path := range packs {
		contents[path] = must.Get(os.ReadFile(path))(f)
		must.Do(r.TB, os.Chmod(path, 0o644))
	}
	f.Add(true, uint32(8+4*255), byte(1))
	f.Add(true, uint32(8+4*256), byte(1))
	f.Add(false, uint32(12), byte(0x40))
	f.Add(false, uint32(40), byte(1))
	f.Fuzz(func(t *testing.T, index bool, at uint32, flip byte) {
		for path, content := range contents {
			if (filepath.Ext(path) == ".idx") != index || len(content) == 0 || filepath.Ext(path) == ".rev" {
				continue
			}
			changed := append([]byte(nil), content...)
			changed[int(at)%len(changed)] ^= flip
			must.Do(t, os.WriteFile(path, changed, 0o644))
			got, err := files(r.Dir, "HEAD", ".")
			must.Do(t, os.WriteFile(path, content, 0o644))
			if err != nil {
				continue
			}
			for name, content := range got {
				expect.That(t, want[name] == content, "%s is %q", name, content)
			}
		}
	})
}

// forge writes the files of a repository as Git never would.
type forge struct {
	tb  testing.TB
	dir string
}

func newForge(tb testing.TB) *forge {
	tb.Helper()
	f := &forge{tb: tb, dir: tb.TempDir()}
	f.file("HEAD", []byte("ref: refs/heads/main\n"))
	for _, folder := range []string{"objects/pack", "refs/heads"} {
		must.Do(tb, os.MkdirAll(filepath.Join(f.dir, folder), 0o755))
	}
	return f
}

func (f *forge) file(name string, content []byte) {
	f.tb.Helper()
	path := filepath.Join(f.dir, filepath.FromSlash(name))
	must.Do(f.tb, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(f.tb, os.WriteFile(path, content, 0o644))
}

// put writes a valid loose object.
func (f *forge) put(kind git.Kind, content []byte) git.Hash {
	hash := git.HashOf(kind, content)
	f.loose(hash, fmt.Appendf(nil, "%s %d\x00%s", kind, len(content), content))
	return hash
}

// loose writes a loose object with any content and any name.
func (f *forge) loose(hash git.Hash, content []byte) {
	name := hash.String()
	f.file("objects/"+name[:2]+"/"+name[2:], deflate(content))
}

func deflate(content []byte) []byte {
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	_, _ = z.Write(content)
	_ = z.Close()
	return packed.Bytes()
}

// line returns one entry of a tree.
func line(mode, name string, hash git.Hash) []byte {
	return append([]byte(mode+" "+name+"\x00"), hash[:]...)
}

// small returns an entry of a tree for a small file.
func (f *forge) small(mode, name string) []byte { return line(mode, name, f.put(blob, small)) }

// below puts a tree below a number of folders.
func (f *forge) below(folders int, tree git.Hash) git.Hash {
	for range folders {
		tree = f.tree(line("40000", "d", tree))
	}
	return tree
}

func (f *forge) tree(lines ...[]byte) git.Hash { return f.put(git.KindTree, bytes.Join(lines, nil)) }

// commit points main to a new commit of a tree.
func (f *forge) commit(tree git.Hash, parents ...git.Hash) git.Hash {
	content := fmt.Appendf(nil, "tree %s\n", tree)
	for _, parent := range parents {
		content = fmt.Appendf(content, "parent %s\n", parent)
	}
	hash := f.put(git.KindCommit, fmt.Appendf(content, "author A <a@example.com> 0 +0000\ncommitter A <a@example.com> 0 +0000\n\nx\n"))
	f.file("refs/heads/main", []byte(hash.String()+"\n"))
	return hash
}

// packed is an object of a pack with its name in the index.
type packed struct {
	hash  git.Hash
	entry []byte
}

// The types of objects in a pack (gitformat-pack).
const (
	packCommit, packTree, packBlob = 1, 2, 3
	offsetDelta, namedDelta        = 6, 7
)

// entry returns an object of a pack: its type, its claimed size, its base and its content.
func entry(kind byte, size uint64, base, content []byte) []byte {
	first := kind<<4 | byte(size&15)
	var head []byte
	for size >>= 4; size > 0; size >>= 7 {
		head = append(head, first|0x80)
		first = byte(size & 0x7f)
	}
	return slices.Concat(append(head, first), base, deflate(content))
}

// change returns a delta from a base to size bytes. It repeats the first bytes of the base.
func change(base, size uint64) []byte {
	out := binary.AppendUvarint(binary.AppendUvarint(nil, base), size)
	for size > 0 {
		n := min(size, base, 0xffffff)
		out = append(out, 0x80|0x70, byte(n), byte(n>>8), byte(n>>16))
		size -= n
	}
	return out
}

// pack writes a pack and its index.
func (f *forge) pack(objects ...packed) {
	content := append([]byte("PACK\x00\x00\x00\x02"), binary.BigEndian.AppendUint32(nil, uint32(len(objects)))...)
	places := map[git.Hash]uint32{}
	for _, o := range objects {
		places[o.hash] = uint32(len(content))
		content = append(content, o.entry...)
	}
	content = append(content, make([]byte, 20)...)
	f.file("objects/pack/pack-"+git.ZeroHash.String()+".pack", content)

	slices.SortFunc(objects, func(a, b packed) int { return bytes.Compare(a.hash[:], b.hash[:]) })
	index := []byte{0xff, 't', 'O', 'c', 0, 0, 0, 2}
	for first := range 256 {
		n := 0
		for _, o := range objects {
			if int(o.hash[0]) <= first {
				n++
			}
		}
		index = binary.BigEndian.AppendUint32(index, uint32(n))
	}
	for _, o := range objects {
		index = append(index, o.hash[:]...)
	}
	index = append(index, make([]byte, 4*len(objects))...)
	for _, o := range objects {
		index = binary.BigEndian.AppendUint32(index, places[o.hash])
	}
	f.file("objects/pack/pack-"+git.ZeroHash.String()+".idx", append(index, make([]byte, 40)...))
}

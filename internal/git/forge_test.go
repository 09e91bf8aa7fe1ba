package git_test

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/test/must"
)

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

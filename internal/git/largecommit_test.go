package git_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/test/expect"
)

// TestLargeCommits: a commit of any size is read, as a loose object, in a pack and as a delta.
// Above 1 MiB its message is the first line, and its hash is still checked.
func TestLargeCommits(t *testing.T) {
	const mebibyte = 1 << 20
	parent := git.NewHash("1111111111111111111111111111111111111111")
	commit := func(size int, header string) []byte {
		const person = "A <a@example.com> 0 +0000"
		text := fmt.Sprintf("tree %s\nparent %s\nauthor %s\ncommitter %[3]s\n%[4]s\nx\n",
			git.ZeroHash, parent, person, header)
		return []byte(text + strings.Repeat("y", size-len(text)))
	}
	forms := map[string]func(f *forge, named git.Hash, content []byte){
		"loose": func(f *forge, named git.Hash, content []byte) {
			f.loose(named, fmt.Appendf(nil, "commit %d\x00%s", len(content), content))
		},
		"packed": func(f *forge, named git.Hash, content []byte) {
			f.pack(packed{named, entry(packCommit, uint64(len(content)), nil, content)})
		},
		"a delta": func(f *forge, named git.Hash, content []byte) {
			base := slices.Concat(content, []byte("more"))
			baseHash := git.HashOf(git.KindCommit, base)
			delta := beginOf(len(base), len(content))
			f.pack(packed{baseHash, entry(packCommit, uint64(len(base)), nil, base)},
				packed{named, entry(namedDelta, uint64(len(delta)), baseHash[:], delta)})
		},
	}
	for name, put := range forms {
		for _, tc := range []struct {
			size   int
			header string
			whole  bool
		}{
			{size: mebibyte - 1, whole: true},
			{size: mebibyte},
			{size: 2 * mebibyte},
			{size: git.MaxFile + 8*mebibyte, header: "x-note " + strings.Repeat("z", 3*mebibyte) + "\n"},
		} {
			content := commit(tc.size, tc.header)
			right := git.HashOf(git.KindCommit, content)
			for _, hash := range []git.Hash{right, parent} {
				f := newForge(t)
				put(f, hash, content)
				r := expect.Value(git.Open(t.Context(), f.dir))(t)
				got, err := r.Commit(hash)
				switch {
				case hash != right:
					expect.Failure(got, err)(t, "does not match the hash")
				case err != nil:
					t.Errorf("%s, %d bytes: %v", name, tc.size, err)
				case len(got.Parents) != 1 || got.Parents[0] != parent || got.Author.Email != "a@example.com":
					t.Errorf("%s, %d bytes: %+v", name, tc.size, got)
				case tc.whole != strings.HasSuffix(string(content), "\n\n"+got.Message):
					t.Errorf("%s, %d bytes: a message of %d bytes", name, tc.size, len(got.Message))
				case !tc.whole && got.Message != "x" && tc.header == "":
					t.Errorf("%s, %d bytes: the message %.20q", name, tc.size, got.Message)
				}
				expect.OK(t, r.Close())
			}
		}
	}
}

// beginOf returns a delta to the first size bytes of a base.
func beginOf(base, size int) []byte {
	out := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(base)), uint64(size))
	for at := 0; at < size; {
		n := min(size-at, 0xffffff)
		out = binary.LittleEndian.AppendUint32(append(out, 0xff), uint32(at))
		out = append(out, byte(n), byte(n>>8), byte(n>>16))
		at += n
	}
	return out
}

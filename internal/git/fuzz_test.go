package git_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/polex-dev/polex/test/expect"
)

// FuzzPack changes one byte of a pack or its index. All content that is still readable must be
// unchanged.
func FuzzPack(f *testing.F) {
	r := newRepository(f, kept)
	for i := range 4 {
		r.write("signed/a.yaml", string(make([]byte, 200*i))+"a: 1\n")
		r.commit("Change")
	}
	r.git("gc", "--quiet", "--aggressive")
	want := expect.Value(files(r.dir, "HEAD", "."))(f)
	packs := expect.Value(filepath.Glob(filepath.Join(r.dir, ".git", "objects", "pack", "pack-*")))(f)
	contents := map[string][]byte{}
	for _, path := range packs {
		contents[path] = expect.Value(os.ReadFile(path))(f)
		r.must(os.Chmod(path, 0o644))
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
			expect.OK(t, os.WriteFile(path, changed, 0o644))
			got, err := files(r.dir, "HEAD", ".")
			expect.OK(t, os.WriteFile(path, content, 0o644))
			if err != nil {
				continue
			}
			for name, content := range got {
				if want[name] != content {
					t.Errorf("%s is %q", name, content)
				}
			}
		}
	})
}

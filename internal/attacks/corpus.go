package attacks

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Dir returns the folder of the corpus, which lies in a folder of this module.
func Dir() (string, error) {
	at, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return filepath.Join(at, "internal", "attacks", "corpus"), nil
		}
		parent := filepath.Dir(at)
		if parent == at {
			return "", errors.New("this is not a folder of the module")
		}
		at = parent
	}
}

const extension = ".txtar"

// Read returns the cases of the corpus in the order of their names.
func Read() ([]*Case, error) {
	dir, err := Dir()
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read the corpus: %w", err)
	}
	roots := map[string][]byte{}
	var cases []*Case
	for _, entry := range entries {
		name, is := strings.CutSuffix(entry.Name(), extension)
		if !is {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(dir, entry.Name())) // #nosec G304 -- the corpus
		if err != nil {
			return nil, err
		}
		c, err := unmarshal(name, raw)
		if err != nil {
			return nil, err
		}
		if roots[c.root] == nil {
			if roots[c.root], err = os.ReadFile(filepath.Join(dir, filepath.FromSlash(c.root))); err != nil { // #nosec G304 -- the corpus
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
		c.Root = roots[c.root]
		cases = append(cases, c)
	}
	if len(cases) == 0 {
		return nil, fmt.Errorf("the corpus %s holds no case", dir)
	}
	return cases, nil
}

// Write makes the corpus hold these cases and no others. A case that is there
// under the same name keeps what was forged for it, since what was refused once has
// to stay refused; remove its file to have it forged anew.
func Write(cases []*Case) error {
	dir, err := Dir()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, "roots"), 0o750); err != nil {
		return err
	}
	kept, err := Read()
	if err != nil && !errors.Is(err, fs.ErrNotExist) && len(kept) > 0 {
		return err
	}
	used := map[string]bool{}
	for _, c := range cases {
		digest := sha256.Sum256(c.Root)
		c.root = fmt.Sprintf("roots/%x.json", digest[:6])
		if i := slices.IndexFunc(kept, func(k *Case) bool { return k.Name == c.Name }); i >= 0 {
			k := kept[i]
			c.Now, c.File, c.Input, c.Policy, c.Root, c.root = k.Now, k.File, k.Input, k.Policy, k.Root, k.root
		}
		used[filepath.Join(dir, c.Name+extension)] = true
		used[filepath.Join(dir, filepath.FromSlash(c.root))] = true
		if err := os.WriteFile(filepath.Join(dir, c.Name+extension), c.marshal(), 0o600); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(c.root)), c.Root, 0o600); err != nil {
			return err
		}
	}
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || used[path] {
			return err
		}
		return os.Remove(path) // #nosec G122 -- the corpus
	})
}

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

// Dir returns the folder of the corpus. The working directory must be in this module.
func Dir() (string, error) {
	at, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return filepath.Join(at, "test", "attacks", "corpus"), nil
		}
		parent := filepath.Dir(at)
		if parent == at {
			return "", errors.New("this is not a folder of the module")
		}
		at = parent
	}
}

const extension = ".txtar"

// Name returns the name of a case: the folder of the first expected rejection, and a name within
// it.
func Name(expect []string, within string) string {
	folder := Verified
	if i := slices.IndexFunc(expect, func(reason string) bool { return reason != Verified }); i >= 0 {
		folder = expect[i]
	}
	return folder + "/" + within
}

// Read returns the cases of the corpus in the order of their names.
func Read() ([]*Case, error) {
	dir, err := Dir()
	if err != nil {
		return nil, err
	}
	shared := map[string][]byte{}
	read := func(name string) ([]byte, error) {
		if shared[name] == nil {
			raw, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name))) // #nosec G304 -- the corpus
			if err != nil {
				return nil, err
			}
			shared[name] = raw
		}
		return shared[name], nil
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*", "*"+extension))
	if err != nil || len(paths) == 0 {
		return nil, fmt.Errorf("the corpus %s holds no case: %w", dir, errors.Join(err, fs.ErrNotExist))
	}
	var cases []*Case
	for _, path := range paths {
		raw, err := os.ReadFile(path) // #nosec G304 -- the corpus
		if err != nil {
			return nil, err
		}
		within, err := filepath.Rel(dir, strings.TrimSuffix(path, extension))
		if err != nil {
			return nil, err
		}
		c, err := unmarshal(filepath.ToSlash(within), raw)
		if err != nil {
			return nil, err
		}
		if want := Name(c.Expect, filepath.Base(within)); c.Name != want {
			return nil, fmt.Errorf("%s has to be %s, for what is expected of it", c.Name, want)
		}
		if c.Policy, err = read(c.policy); err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
		if c.Root, err = read(c.root); err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
		cases = append(cases, c)
	}
	return cases, nil
}

// Write replaces the corpus by these cases, each in the folder of its reason. An existing case of
// the same name keeps its forged files, because a rejected attack must stay rejected. Remove its
// file to forge it again.
func Write(cases []*Case) error {
	dir, err := Dir()
	if err != nil {
		return err
	}
	kept, err := Read()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	used := map[string]bool{}
	write := func(name string, content []byte) error {
		path := filepath.Join(dir, filepath.FromSlash(name))
		used[path] = true
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			return err
		}
		return os.WriteFile(path, content, 0o600)
	}
	for _, c := range cases {
		c.policy, c.root = digested("policies", c.Policy, ".yaml"), digested("roots", c.Root, ".json")
		if i := slices.IndexFunc(kept, func(k *Case) bool { return k.Name == c.Name }); i >= 0 {
			k := kept[i]
			c.Now, c.File, c.Input = k.Now, k.File, k.Input
			c.Policy, c.policy, c.Root, c.root = k.Policy, k.policy, k.Root, k.root
		}
		if err := errors.Join(write(c.Name+extension, c.marshal()), write(c.policy, c.Policy),
			write(c.root, c.Root)); err != nil {
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

// digested names a shared file by the digest of its content.
func digested(folder string, content []byte, extension string) string {
	digest := sha256.Sum256(content)
	return fmt.Sprintf("%s/%x%s", folder, digest[:6], extension)
}

package gittree

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-git/go-git/v5/plumbing"
)

// Repository is a repository on disk. It is not for several goroutines at once.
type Repository struct {
	root  *os.Root // the .git folder, which nothing that is opened lies outside of
	packs []*pack  // nil until they are looked for
	made  made
	trees trees
}

// Open opens the repository in dir: a folder with a .git folder in it, or a bare
// repository. The folders above dir are not looked at: a commit can hold files
// that look like a bare repository, and which of the two is meant is the
// caller's to say.
func Open(dir string) (*Repository, error) {
	path := filepath.Join(dir, ".git")
	switch info, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
		path = dir
	case err != nil:
		return nil, fmt.Errorf("open repository: %w", err)
	case !info.IsDir():
		return nil, errors.New("open repository: its .git is not a folder but leads elsewhere: name the repository that it leads to (git rev-parse --git-common-dir)")
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, fmt.Errorf("open repository: %w", err)
	}
	r := &Repository{root: root}
	for _, part := range []string{"HEAD", "objects", "refs"} {
		if _, err := root.Stat(part); err != nil {
			_ = root.Close()
			return nil, fmt.Errorf("open repository: this is no Git repository: it has no %s", part)
		}
	}
	return r, nil
}

// Close closes the repository.
func (r *Repository) Close() error {
	errs := []error{r.root.Close()}
	for _, p := range r.packs {
		errs = append(errs, p.close())
	}
	return errors.Join(errs...)
}

// Tree returns what a commit holds.
func (r *Repository) Tree(commit plumbing.Hash) (*Tree, error) {
	r.made.left, r.made.bounded = maxSpent, true
	return newTree(r, commit)
}

// object returns an object of at most most bytes, packed or loose: as in Git, what is
// packed is not looked for elsewhere.
func (r *Repository) object(hash plumbing.Hash, most int64) (plumbing.ObjectType, []byte, error) {
	packs, err := r.openPacks()
	if err != nil {
		return 0, nil, err
	}
	for _, p := range packs {
		offset, found, err := p.find(hash)
		if err != nil {
			return 0, nil, fmt.Errorf("read %s: %w", p.name, err)
		}
		if !found {
			continue
		}
		kind, content, err := p.object(offset, most)
		if err != nil {
			return 0, nil, fmt.Errorf("read %s: %w", p.name, err)
		}
		return kind, content, nil
	}
	kind, content, err := r.loose(hash, most)
	if !errors.Is(err, fs.ErrNotExist) {
		return kind, content, err
	}
	return 0, nil, errors.New("the repository does not have it: is it a partial or shallow clone, or one that borrows objects of another?")
}

// trees are those that were read last, each held against its hash.
type trees struct {
	content map[plumbing.Hash][]byte
	size    int
}

// tree returns a tree. Where there is no room for it beside the others, they are
// forgotten.
func (r *Repository) tree(hash plumbing.Hash) ([]byte, error) {
	if content := r.trees.content[hash]; content != nil {
		return content, nil
	}
	content, err := read(r, plumbing.TreeObject, hash, maxTree)
	if err != nil || len(content) > maxKeptTrees/2 {
		return content, err
	}
	if r.trees.content == nil || r.trees.size+len(content) > maxKeptTrees {
		r.trees = trees{content: map[plumbing.Hash][]byte{}}
	}
	r.trees.content[hash] = content
	r.trees.size += len(content)
	return content, nil
}

// open opens a regular file: any other could block, or never end.
func (r *Repository) open(name string) (*os.File, error) {
	info, err := r.root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", name)
	}
	return r.root.Open(name)
}

// file reads a whole file of at most most bytes.
func (r *Repository) file(name string, most int64) ([]byte, error) {
	f, err := r.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	content, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(content)) > most {
		return nil, fmt.Errorf("%s: %w", name, tooLarge(len(content), most))
	}
	return content, nil
}

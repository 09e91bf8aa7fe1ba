package git

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-git/go-git/v5/plumbing"
)

// Repository is a repository on disk. It is not safe for concurrent use. It opens no files outside
// its folders.
type Repository struct {
	root  *os.Root // the .git folder: references, shallow
	own   *os.Root // the .git folder of the work tree, which differs for a linked one: HEAD
	store *os.Root // the folder of objects
	packs []*pack  // nil before they are opened
	made  made
	batch *batch // if not nil, Git reads the objects
	trees trees
}

// Folders are the paths of the parts of a repository.
type Folders struct {
	Own, Common string
	// Objects, if not nil, is a git cat-file --batch in the repository. Git then reads the objects
	// from all its sources. Set it only if you trust the repository's configuration.
	Objects io.ReadWriter
}

// Open opens the repository in dir: a folder that contains .git, or a bare repository. It does not
// search the folders above. A commit can contain files that look like a bare repository, so the
// caller must choose.
func Open(dir string) (*Repository, error) {
	path := filepath.Join(dir, ".git")
	switch info, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
		path = dir
	case err != nil:
		return nil, fmt.Errorf("open repository: %w", err)
	case !info.IsDir():
		return nil, errors.New("open repository: its .git is not a folder, but points to a repository: name that one (git rev-parse --git-common-dir)")
	}
	return OpenFolders(Folders{Own: path, Common: path})
}

// OpenFolders opens the repository with these folders, which Git or a work tree's .git file names.
func OpenFolders(f Folders) (r *Repository, err error) {
	r = &Repository{}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("open repository: %w", err), r.Close())
		}
	}()
	if r.root, err = os.OpenRoot(f.Common); err != nil {
		return r, err
	}
	if r.own, err = os.OpenRoot(f.Own); err != nil {
		return r, err
	}
	for _, part := range []struct {
		in   *os.Root
		name string
	}{{r.own, "HEAD"}, {r.root, "objects"}, {r.root, "refs"}} {
		if _, err := part.in.Stat(part.name); err != nil {
			return r, fmt.Errorf("not a Git repository: it has no %s", part.name)
		}
	}
	if f.Objects != nil {
		r.batch = &batch{in: f.Objects, out: bufio.NewReader(f.Objects)}
	}
	r.store, err = r.root.OpenRoot("objects")
	return r, err
}

// Close closes the repository.
func (r *Repository) Close() error {
	errs := []error{closePacks(r.packs)}
	for _, root := range []*os.Root{r.store, r.root, r.own} {
		if root != nil {
			errs = append(errs, root.Close())
		}
	}
	return errors.Join(errs...)
}

var errNoObject = errors.New("the repository does not have it: is it a partial or shallow clone, or one with alternates?")

// object reads a packed or loose object. As in Git, a packed object comes first.
func (r *Repository) object(hash plumbing.Hash, to *object) error {
	if r.batch != nil {
		return r.batch.object(hash, to)
	}
	if err := r.openPacks(); err != nil {
		return err
	}
	for _, p := range r.packs {
		offset, found, err := p.find(hash)
		if err != nil {
			return fmt.Errorf("read %s: %w", p.name, err)
		}
		if !found {
			continue
		}
		if err := p.object(offset, to); err != nil {
			return fmt.Errorf("read %s: %w", p.name, err)
		}
		return nil
	}
	if err := r.loose(hash, to); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return errNoObject
}

// trees caches verified trees.
type trees struct {
	content map[plumbing.Hash][]byte
	size    int
}

// tree returns a tree. If the cache is full, it is cleared first.
func (r *Repository) tree(hash plumbing.Hash) ([]byte, error) {
	if content := r.trees.content[hash]; content != nil {
		return content, nil
	}
	content, err := r.read(plumbing.TreeObject, hash, maxTree)
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

// open opens a regular file. Reading other files could block or never end.
func open(root *os.Root, name string) (*os.File, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", name)
	}
	return root.Open(name)
}

// readFile reads a file. More than most bytes are an error.
func readFile(root *os.Root, name string, most int64) ([]byte, error) {
	f, err := open(root, name)
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

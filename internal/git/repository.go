package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Repository is a repository on disk. It is not safe for concurrent use.
type Repository struct {
	git     Git
	ctx     context.Context //nolint:containedctx // the life of the process that reads
	shallow string          // the file with the first commits of a shallow clone
	objects *objects        // nil before the first object, and after a failure
	late    error           // Git did not answer in time: it is not asked again
	trees   trees
	left    budget
}

// answerLimit limits the wait for one answer of Git.
var answerLimit = time.Minute

// Open opens the repository in dir: a folder that contains .git, or a bare repository. It does not
// search the folders above. A commit can contain files that look like a bare repository, so the
// caller must choose. Git ends with ctx. See [Git] for a repository of others.
func Open(ctx context.Context, dir string) (*Repository, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open repository: %w", err)
	}
	path := filepath.Join(dir, ".git")
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		path = dir
	} else if err != nil {
		return nil, fmt.Errorf("open repository: %w", err)
	}
	return OpenWith(ctx, Git{Dir: dir, Folder: path})
}

// OpenWith opens the repository of a [Git].
func OpenWith(ctx context.Context, g Git) (*Repository, error) {
	if _, err := os.Stat(g.Dir); err != nil {
		return nil, fmt.Errorf("open repository: %w", err)
	}
	r := &Repository{git: g, ctx: ctx}
	out, err := r.run(Call{}, "rev-parse", "--path-format=absolute", "--show-object-format", "--git-path", "shallow")
	if err != nil {
		return nil, fmt.Errorf("open repository %q: %w", g.Dir, err)
	}
	format, path, _ := strings.Cut(strings.TrimSuffix(out, "\n"), "\n")
	if format != "sha1" || !filepath.IsAbs(path) {
		return nil, fmt.Errorf("open repository %q: its object format is %q, and only repositories with SHA-1 can be "+
			"read", g.Dir, format)
	}
	r.shallow = path
	return r, nil
}

// run runs a git command that reads the repository.
func (r *Repository) run(how Call, args ...string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(r.ctx, answerLimit,
		fmt.Errorf("git %s did not answer within %s", args[0], answerLimit))
	defer cancel()
	out, err := r.git.Run(ctx, how, args...)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return out, err
}

// Close ends the process that reads objects.
func (r *Repository) Close() error {
	if r.objects == nil {
		return nil
	}
	o := r.objects
	r.objects = nil
	return o.end(nil)
}

var errNoObject = errors.New("the repository does not have it: is it a partial or shallow clone?")

// object reads an object. A process that fails is replaced for the next object, except one that did
// not answer: each damaged object could make it wait for a minute.
func (r *Repository) object(hash Hash, to *object) error {
	if r.late != nil || r.ctx.Err() != nil {
		return cmp.Or(r.late, context.Cause(r.ctx))
	}
	if r.objects == nil {
		o, err := r.git.objects(r.ctx, answerLimit)
		if err != nil {
			return err
		}
		r.objects = o
	}
	began := time.Now()
	err := r.objects.object(hash, to, answerLimit)
	if errors.Is(err, errAnswer) {
		if err, r.objects = r.objects.end(err), nil; errors.Is(err, errLate) {
			r.late = err
		}
	}
	if r.left.time -= time.Since(began); err == nil && r.left.bounded && r.left.time < 0 {
		err = fmt.Errorf("with this one, Git has worked for %s on the objects of the commit", maxWait)
	}
	return err
}

// budget is the remaining work for the present tree, if bounded. A walk through history has no such
// limit.
type budget struct {
	bytes   int64
	time    time.Duration // waiting for Git, which unpacks objects
	bounded bool
}

// trees caches verified trees.
type trees struct {
	content map[Hash][]byte
	size    int
}

// tree returns a tree. If the cache is full, it is cleared first.
func (r *Repository) tree(hash Hash) ([]byte, error) {
	if content := r.trees.content[hash]; content != nil {
		return content, nil
	}
	content, err := r.read(KindTree, hash, maxTree)
	if err != nil || len(content) > maxKeptTrees/2 {
		return content, err
	}
	if r.trees.content == nil || r.trees.size+len(content) > maxKeptTrees {
		r.trees = trees{content: map[Hash][]byte{}}
	}
	r.trees.content[hash] = content
	r.trees.size += len(content)
	return content, nil
}

// readFile reads a regular file. Reading other files could block or never end. More than most bytes
// are an error.
func readFile(name string, most int64) ([]byte, error) {
	info, err := os.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	if info.Size() > most {
		return nil, fmt.Errorf("%s: %w", name, tooLarge(info.Size(), most))
	}
	return os.ReadFile(name) // #nosec G304 -- Git names it
}

package commit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/git"
)

// The references of one work tree whose files are behind its branch: the commit whose files it
// still has, and the commit of the branch. refs/worktree is Git's own place for them. A remote can
// name them too: they lead to no other files than those of HEAD.
const (
	followFrom = "refs/worktree/polex/from"
	followTo   = "refs/worktree/polex/to"
)

// ErrMoved means that HEAD moved after polex prepared the change.
var ErrMoved = errors.New("HEAD has moved meanwhile: run it again")

// ErrInTheWay means that the work tree or the index has uncommitted content at a path of the change.
// polex does not overwrite or remove it.
var ErrInTheWay = errors.New("there is content that is not committed")

// versions are the paths of a change, with the forms that are not changes of the user.
type versions map[string][]git.Entry

// versions returns the paths that differ between the commits of a row.
func (c *Clone) versions(row ...git.Hash) (versions, error) {
	found := versions{}
	for i, hash := range row[1:] {
		before, err := c.Tree(row[i])
		if err != nil {
			return nil, err
		}
		after, err := c.Tree(hash)
		if err != nil {
			return nil, err
		}
		if err := git.Differences(before, after, ".", func(d git.Change) error {
			found[d.Path] = append(found[d.Path], d.Old, d.New)
			return nil
		}); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// unfinished returns the references of an interrupted change, or zeros.
func (c *Clone) unfinished() (from, to git.Hash, err error) {
	for _, r := range []struct {
		name git.ReferenceName
		hash *git.Hash
	}{{followFrom, &from}, {followTo, &to}} {
		if *r.hash, err = c.Reference(r.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return from, to, err
		}
	}
	return from, to, nil
}

// move moves the branch of the work tree from head to a commit, and then updates the files. An error
// means that the branch has not moved. left explains why the files are not updated.
func (c *Clone) move(head git.Head, to git.Hash, by git.Stamp, what string) (left string, err error) {
	from, known, err := c.unfinished()
	if err != nil {
		return "", err
	}
	if from.IsZero() || known != head.Commit {
		from = head.Commit
	}
	paths, index, err := c.ready(head.Commit, from, head.Commit, to)
	if err != nil {
		return "", err
	}
	if err = c.updateReferences("move "+head.Branch.String(), git.Call{Env: named(by)}, transaction(head, from, to),
		"-m", what); err != nil {
		now, headErr := c.Head()
		if headErr == nil && now == head {
			return "", err
		}
		if headErr != nil || now.Commit != to {
			return "", errors.Join(ErrMoved, headErr)
		}
	}
	if err := c.restore(from, to, paths, index); err != nil {
		return fmt.Sprintf("the work tree does not have the commit %s yet: %v: the next run completes it", to, err), nil
	}
	return "", nil
}

// transaction returns the commands that move the branch, in this order: a killed Git may have done
// only the first of them.
func transaction(head git.Head, from, to git.Hash) string {
	return fmt.Sprintf("update %s %s\nupdate %s %s\nupdate %s %s %s\n", followTo, to, followFrom, from, head.Branch,
		to, head.Commit)
}

// recover completes an interrupted change, and returns a sentence about it. If it cannot, the run
// goes on, because it only needs the objects and the references.
func (c *Clone) recover() (string, error) {
	from, to, err := c.unfinished()
	if err != nil || from.IsZero() && to.IsZero() {
		return "", err
	}
	paths := versions{}
	head, err := c.Head()
	if err == nil && head.Commit == to {
		paths, err = c.versions(from, to)
	}
	if err != nil || head.Commit != to { // the user went on, or it is not a change of polex
		return "", c.forget(from, to)
	}
	index, err := c.free(to, paths, true)
	if err == nil {
		err = c.restore(from, to, paths, index)
	}
	if errors.Is(err, ErrInTheWay) {
		err = fmt.Errorf("%w: keep it elsewhere, and then: git restore --source=HEAD --staged --worktree PATH", err)
	}
	if err != nil {
		return fmt.Sprintf("a run was interrupted, and the work tree does not have its commit %s yet: %v", to, err), nil
	}
	return fmt.Sprintf("updated the work tree to the commit %s of an interrupted run", to), nil
}

// ready returns the paths that differ between the commits of a row, and their index entries as [Clone.free].
func (c *Clone) ready(at git.Hash, row ...git.Hash) (versions, map[string]git.Entry, error) {
	paths, err := c.versions(row...)
	if err != nil {
		return nil, nil, err
	}
	index, err := c.free(at, paths, false)
	return paths, index, err
}

// free returns the index entries of paths. It returns [ErrInTheWay] if the index or the work tree
// has content of the user there. at is the commit of HEAD. begun also accepts an empty file, which
// a killed Git leaves.
func (c *Clone) free(at git.Hash, paths versions, begun bool) (map[string]git.Entry, error) {
	staged, err := c.staged(at)
	if err != nil {
		return nil, err
	}
	tree, err := c.Tree(at)
	if err != nil {
		return nil, err
	}
	index := map[string]git.Entry{}
	for name, known := range paths {
		entry, differs := staged[name]
		if !differs {
			if entry, err = tree.At(name); err != nil {
				return nil, err
			}
		}
		if differs && !slices.Contains(known, entry) {
			return nil, fmt.Errorf("%q is staged or in the middle of a merge: %w", name, ErrInTheWay)
		}
		index[name] = entry
	}
	return index, c.onDisk(paths, begun)
}

// staged returns the index entries that differ from a commit. An unmerged entry equals no version.
func (c *Clone) staged(than git.Hash) (map[string]git.Entry, error) {
	out, err := c.ask(git.Call{}, "diff-index", "--cached", "--raw", "--abbrev=40", "--no-renames",
		"--ignore-submodules=none", "-z", than.String(), "--")
	if err != nil {
		return nil, fmt.Errorf("read index: %w", err)
	}
	staged := map[string]git.Entry{}
	for rest := strings.Split(out, "\x00"); len(rest) >= 2; rest = rest[2:] {
		// ":100644 100755 <hash> <hash> M"
		fields, name := strings.Fields(rest[0]), rest[1]
		if len(fields) != 5 || !git.IsHash(fields[3]) {
			return nil, fmt.Errorf("read index: git diff-index answered %q", rest[0])
		}
		mode, err := git.ParseMode(fields[1])
		if err != nil {
			return nil, fmt.Errorf("read index: %w", err)
		}
		staged[name] = git.NewEntry(name, mode, git.NewHash(fields[3]))
		if fields[4] == "D" {
			staged[name] = git.Entry{}
		}
	}
	return staged, nil
}

// onDisk returns [ErrInTheWay] if a file, folder or link of the user is at one of the paths. It
// follows no links. A missing file loses nothing.
func (c *Clone) onDisk(paths versions, begun bool) error {
	const maxName = 255 // the maximum length of a name, in bytes, on the usual file systems
	var files []string
	for _, name := range slices.Sorted(maps.Keys(paths)) {
		info, err := c.lstat(name, paths)
		switch {
		case slices.ContainsFunc(paths[name], func(v git.Entry) bool { return v.Mode == git.Submodule }):
			return fmt.Errorf("%q is a submodule: %w", name, ErrInTheWay)
		case slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return len(part) > maxName }):
			return fmt.Errorf("%q: a file system does not allow such a long name: %w", name, ErrInTheWay)
		case errors.Is(err, fs.ErrNotExist), err == nil && begun && info.Mode().IsRegular() && info.Size() == 0:
		case err != nil:
			return fmt.Errorf("%q: %w: %w", name, ErrInTheWay, err)
		case info.Mode().Type() == fs.ModeSymlink:
			target, err := c.work.Readlink(name)
			link := git.NewEntry(name, git.Symlink, git.HashOf(git.KindBlob, []byte(target)))
			if err != nil || !slices.Contains(paths[name], link) {
				return errors.Join(fmt.Errorf("%q: %w", name, ErrInTheWay), err)
			}
		case info.Mode().IsRegular():
			files = append(files, name)
		default:
			return fmt.Errorf("%q: %w", name, ErrInTheWay)
		}
	}
	// Git's filters decide. A file that was committed without them is equal as it is.
	for _, options := range [][]string{nil, {"--no-filters"}} {
		hashes, err := c.hashes(files, options)
		if err != nil {
			return err
		}
		var others []string
		for i, name := range files {
			if !slices.ContainsFunc(paths[name],
				func(v git.Entry) bool { return v.IsFile() && v.Hash() == hashes[i] }) {
				others = append(others, name)
			}
		}
		files = others
	}
	if len(files) > 0 {
		return fmt.Errorf("%q: %w", files[0], ErrInTheWay)
	}
	return nil
}

// lstat returns the file, folder or link at a path. Nothing is below a file or link that is part of the change itself.
func (c *Clone) lstat(name string, paths versions) (fs.FileInfo, error) {
	for i, char := range name {
		if char != '/' {
			continue
		}
		info, err := c.work.Lstat(name[:i])
		switch _, part := paths[name[:i]]; {
		case err != nil:
			return nil, err
		case !info.IsDir() && part:
			return nil, fs.ErrNotExist
		case !info.IsDir():
			return nil, fmt.Errorf("%q is not a folder", name[:i])
		}
	}
	return c.work.Lstat(name)
}

// hashes returns the hashes that Git would give to files of the work tree, in order.
func (c *Clone) hashes(names, options []string) ([]git.Hash, error) {
	if len(names) == 0 {
		return nil, nil
	}
	var input strings.Builder
	for _, name := range names {
		input.WriteString(quoted(name) + "\n")
	}
	out, err := c.ask(git.Call{Input: strings.NewReader(input.String())},
		append([]string{"hash-object", "--stdin-paths"}, options...)...)
	if err != nil {
		return nil, fmt.Errorf("read the work tree: %w", err)
	}
	lines := strings.Fields(out)
	if len(lines) != len(names) {
		return nil, fmt.Errorf("read the work tree: git hash-object answered %d of %d lines", len(lines), len(names))
	}
	hashes := make([]git.Hash, len(lines))
	for i, line := range lines {
		hashes[i] = git.NewHash(line)
	}
	return hashes, nil
}

// restore gives the work tree and the index the files of HEAD at the paths. It can be repeated after
// it was killed. Then it forgets that it had to do this.
func (c *Clone) restore(from, to git.Hash, paths versions, index map[string]git.Entry) error {
	if err := c.restoreFrom(to, paths, index, "--source=HEAD", "--staged"); err != nil {
		return err
	}
	return c.forget(from, to)
}

// restoreFrom runs git restore for the paths that it knows: in the commit or in the index.
func (c *Clone) restoreFrom(commit git.Hash, paths versions, index map[string]git.Entry, options ...string) error {
	tree, err := c.Tree(commit)
	if err != nil {
		return err
	}
	var known, gone []string
	for _, name := range slices.Sorted(maps.Keys(paths)) {
		entry, err := tree.At(name)
		if err != nil {
			return err
		}
		if !entry.Absent() || !index[name].Absent() {
			known = append(known, name)
		}
		if entry.Absent() {
			gone = append(gone, name)
		}
	}
	if len(known) > 0 {
		// Not the context of the run: cancellation would leave half of the files.
		_, err = c.write(context.Background(), "restore the files",
			git.Call{Input: strings.NewReader(strings.Join(known, "\x00") + "\x00"),
				Env: []string{"GIT_LITERAL_PATHSPECS=1"}},
			append([]string{"-c", "index.sparse=false", "restore", "--quiet", "--worktree",
				"--ignore-skip-worktree-bits",
				"--no-recurse-submodules", "--pathspec-from-file=-", "--pathspec-file-nul"}, options...)...)
	}
	// Git only warns about a file that it cannot remove.
	for _, name := range gone {
		if info, statErr := c.lstat(name, paths); err == nil && statErr == nil && !info.IsDir() {
			err = c.work.Remove(name)
		}
	}
	return err
}

// forget deletes the references of a change, unless another run has changed them.
func (c *Clone) forget(from, to git.Hash) error {
	var what strings.Builder
	for _, r := range []struct {
		name string
		hash git.Hash
	}{{followFrom, from}, {followTo, to}} {
		if !r.hash.IsZero() {
			fmt.Fprintf(&what, "delete %s %s\n", r.name, r.hash)
		}
	}
	err := c.updateReferences("end the update of the work tree", git.Call{}, what.String())
	if nowFrom, nowTo, readErr := c.unfinished(); readErr == nil && (nowFrom != from || nowTo != to) {
		return nil
	}
	return err
}

// updateReferences runs git update-ref with the commands of what, all of them or none.
func (c *Clone) updateReferences(step string, how git.Call, what string, options ...string) error {
	how.Input = strings.NewReader(what)
	_, err := c.write(context.Background(), step,
		how, append(append([]string{"update-ref", "--no-deref"}, options...), "--stdin")...)
	return err
}

// Dirty returns the files below the paths that differ from HEAD in the work tree, except ignored
// ones. No flag of the index hides a file.
func (c *Clone) Dirty(paths ...string) ([]string, error) {
	dir, err := os.MkdirTemp("", "polex-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	how := git.Call{Env: []string{"GIT_INDEX_FILE=" + filepath.Join(dir, "index")}}
	out := ""
	if _, err = c.ask(how, "read-tree", "--no-sparse-checkout", "HEAD"); err == nil {
		out, err = c.ask(how, append([]string{"status", "--porcelain=v1", "--no-renames", "--untracked-files=all",
			"--ignore-submodules=none", "-z", "--"}, paths...)...)
	}
	if err != nil {
		return nil, fmt.Errorf("read status of work tree: %w", err)
	}
	var names []string
	for line := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		if name := line[min(len(line), len("XY ")):]; name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

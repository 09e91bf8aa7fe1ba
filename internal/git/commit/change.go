package commit

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/git"
)

// Change describes the files of one commit. Paths are from the root, with slashes.
type Change struct {
	Write   map[string][]byte // new content of new or existing regular files
	Remove  []string          // existing files
	Message string            // of the commit
}

// Propose returns the change for a tree: the tree of HEAD, or the tree of the remote branch at the
// time of a push. It may be called several times until a push succeeds. An empty change means that
// there is nothing to do. An error stops the run.
type Propose func(tree *git.Tree) (Change, error)

// effect returns the part of a change that a tree does not contain yet.
func effect(tree *git.Tree, change Change) (Change, error) {
	left := Change{Write: map[string][]byte{}, Message: change.Message}
	for _, name := range slices.Sorted(maps.Keys(change.Write)) {
		old, err := at(tree, name)
		if err != nil {
			return left, err
		}
		if !old.Absent() && !old.IsFile() {
			return left, fmt.Errorf("write %q: it exists and is not a regular file", name)
		}
		if old.Mode != git.Regular || old.Hash() != git.HashOf(git.KindBlob, change.Write[name]) {
			left.Write[name] = change.Write[name]
		}
		for i, char := range name {
			if char != '/' {
				continue
			}
			if above, err := tree.At(name[:i]); err != nil || !above.Absent() && above.Mode != git.Dir {
				return left, fmt.Errorf("write %q: %q is not a folder", name, name[:i])
			}
		}
	}
	for _, name := range slices.Sorted(slices.Values(change.Remove)) {
		if _, written := change.Write[name]; written {
			return left, fmt.Errorf("%q would be written and removed", name)
		}
		old, err := at(tree, name)
		if err != nil {
			return left, err
		}
		if old.Absent() || old.Mode == git.Dir {
			return left, fmt.Errorf("remove %q: there is no such file", name)
		}
		left.Remove = append(left.Remove, name)
	}
	return left, nil
}

// CheckPath rejects a path that is not UTF-8, has more than 1,024 bytes, or leads to a name that a
// file system may treat as Git's own files.
func CheckPath(name string) error {
	const maxPath = 1024 // the maximum length of a written path, in bytes
	if !fs.ValidPath(name) || name == "." || len(name) > maxPath || hasGitFolder(name) {
		return fmt.Errorf("%q is no path of a file in the repository", name)
	}
	return nil
}

func at(tree *git.Tree, name string) (git.Entry, error) {
	if err := CheckPath(name); err != nil {
		return git.Entry{}, err
	}
	return tree.At(name)
}

// hasGitFolder reports whether a path contains .git or another name that a file system may treat as
// .git.
func hasGitFolder(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if strings.EqualFold(part, ".git") || strings.HasPrefix(strings.ToLower(part), "git~") {
			return true
		}
	}
	return false
}

// object is the content of a commit to write.
type object struct {
	parent git.Hash // the base of the change
	by     git.Stamp
	change Change
}

// writeCommit makes Git write a commit with its folders and files, and reads it back.
func (c *Clone) writeCommit(ctx context.Context, step string, o object) (git.Hash, error) {
	// Loose objects avoid one pack for each commit. Two runs could also write the same pack.
	said, err := c.write(ctx, step, git.Call{Input: o.stream(temporary() + "new")}, "-c",
		"fastimport.unpackLimit=1000000", "fast-import", "--quiet", "--done", "--date-format=raw")
	if err != nil {
		return git.ZeroHash, err
	}
	name := strings.TrimSpace(said)
	if !git.IsHash(name) {
		return git.ZeroHash, fmt.Errorf("git fast-import answered %q", name)
	}
	hash := git.NewHash(name)
	if err := c.holds(hash, o); err != nil {
		return git.ZeroHash, fmt.Errorf("read the written commit back: %w", err)
	}
	return hash, nil
}

// holds returns an error if a commit differs from the expected one.
func (c *Clone) holds(hash git.Hash, o object) error {
	found, err := c.Repository.Commit(hash)
	if err != nil {
		return err
	}
	if !slices.Equal(found.Parents, []git.Hash{o.parent}) || strings.TrimRight(found.Message,
		"\n") != strings.TrimRight(o.change.Message, "\n") || found.Author != found.Committer {
		return fmt.Errorf("commit %s differs from the intended one", hash)
	}
	before, err := c.Tree(o.parent)
	if err != nil {
		return err
	}
	changed := 0
	err = git.Differences(before, c.TreeOf(found), ".", func(d git.Change) error {
		changed++
		content, written := o.change.Write[d.Path]
		if written && d.New.IsFile() {
			there, err := c.Blob(d.New.Hash())
			if err == nil && !bytes.Equal(there, content) {
				err = fmt.Errorf("%q has different content", d.Path)
			}
			return err
		}
		if written || !d.New.Absent() || !slices.Contains(o.change.Remove, d.Path) {
			return fmt.Errorf("%q is changed unintentionally", d.Path)
		}
		return nil
	})
	if want := len(o.change.Write) + len(o.change.Remove); err == nil && changed != want {
		err = fmt.Errorf("%d files are changed, expected %d", changed, want)
	}
	return err
}

// stream returns the input of git fast-import: lines, quoted paths, and content with its length. It
// copies no content. The reference exists only while fast-import writes.
func (o *object) stream(reference string) io.Reader {
	var parts []io.Reader
	paths := slices.Sorted(maps.Keys(o.change.Write))
	for i, name := range paths {
		content := o.change.Write[name]
		parts = append(parts, strings.NewReader(fmt.Sprintf("blob\nmark :%d\ndata %d\n", i+2, len(content))),
			bytes.NewReader(content), strings.NewReader("\n"))
	}
	var s bytes.Buffer
	by := fmt.Sprintf("%s <%s> %s", o.by.Name, o.by.Email, stampDate(o.by))
	fmt.Fprintf(&s, "commit %s\nmark :1\nauthor %s\ncommitter %s\ndata %d\n%s\n", reference, by, by,
		len(o.change.Message), o.change.Message)
	fmt.Fprintf(&s, "from %s\n", o.parent)
	for _, name := range o.change.Remove {
		fmt.Fprintf(&s, "D %s\n", quoted(name))
	}
	for i, name := range paths {
		fmt.Fprintf(&s, "M 100644 :%d %s\n", i+2, quoted(name))
	}
	s.WriteString("\nget-mark :1\n")
	fmt.Fprintf(&s, "reset %s\nfrom %s\n\n", reference, git.ZeroHash)
	s.WriteString("done\n")
	return io.MultiReader(append(parts, &s)...)
}

// quoted returns a path in Git's quotes: other bytes than plain ones become octal.
func quoted(name string) string {
	var s strings.Builder
	s.WriteByte('"')
	for _, b := range []byte(name) {
		if b <= ' ' || b >= 0x7f || b == '"' || b == '\\' {
			fmt.Fprintf(&s, `\%03o`, b)
		} else {
			s.WriteByte(b)
		}
	}
	s.WriteByte('"')
	return s.String()
}

package commit

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/git"
)

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

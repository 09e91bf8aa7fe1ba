package git

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// batch requests objects from a running git cat-file --batch. The request is "<hash>" and a line
// break. The answer is "<hash> missing", or "<hash> <kind> <size>", a line break, the content and
// another line break. The caller checks the content against its hash.
type batch struct {
	in  io.Writer
	out *bufio.Reader
}

func (b *batch) object(hash plumbing.Hash, to *object) error {
	if _, err := fmt.Fprintln(b.in, hash); err != nil {
		return fmt.Errorf("git cat-file: %w", err)
	}
	line, err := b.out.ReadSlice('\n')
	if err != nil {
		return fmt.Errorf("git cat-file: %w", unexpected(err))
	}
	said, known := strings.CutPrefix(strings.TrimSuffix(string(line), "\n"), hash.String()+" ")
	if known && said == "missing" {
		return errNoObject
	}
	name, digits, _ := strings.Cut(said, " ")
	kind, kindErr := plumbing.ParseObjectType(name)
	size, err := strconv.ParseInt(digits, 10, 64)
	if !known || kindErr != nil || err != nil || size < 0 {
		return fmt.Errorf("git cat-file answered %q", line)
	}
	fits := to.begin(kind, size)
	if _, err = io.CopyN(to, b.out, size); err == nil {
		_, err = b.out.Discard(1)
	}
	if err != nil {
		return fmt.Errorf("git cat-file: %w", unexpected(err))
	}
	return fits
}

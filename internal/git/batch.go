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

func (b *batch) object(hash plumbing.Hash, most int64) (plumbing.ObjectType, []byte, error) {
	if _, err := fmt.Fprintln(b.in, hash); err != nil {
		return 0, nil, fmt.Errorf("git cat-file: %w", err)
	}
	line, err := b.out.ReadSlice('\n')
	if err != nil {
		return 0, nil, fmt.Errorf("git cat-file: %w", unexpected(err))
	}
	said, known := strings.CutPrefix(strings.TrimSuffix(string(line), "\n"), hash.String()+" ")
	if known && said == "missing" {
		return 0, nil, errNoObject
	}
	name, digits, _ := strings.Cut(said, " ")
	kind, kindErr := plumbing.ParseObjectType(name)
	size, err := strconv.ParseInt(digits, 10, 64)
	if !known || kindErr != nil || err != nil || size < 0 {
		return 0, nil, fmt.Errorf("git cat-file answered %q", line)
	}
	if size > most {
		if _, err := io.CopyN(io.Discard, b.out, size+1); err != nil {
			return 0, nil, fmt.Errorf("git cat-file: %w", unexpected(err))
		}
		return 0, nil, tooLarge(size, most)
	}
	content := make([]byte, size+1)
	if _, err := io.ReadFull(b.out, content); err != nil {
		return 0, nil, fmt.Errorf("git cat-file: %w", unexpected(err))
	}
	return kind, content[:size:size], nil
}

package git

import (
	"bufio"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// loose reads an object from its own file. If there is none, the error is [fs.ErrNotExist].
func (r *Repository) loose(hash plumbing.Hash, to *object) error {
	name := hash.String()
	f, err := open(r.store, name[:2]+"/"+name[2:])
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	z, err := zlib.NewReader(f)
	if err != nil {
		return fmt.Errorf("unpack it: %w", err)
	}
	defer z.Close() //nolint:errcheck // only read
	in := bufio.NewReader(z)
	kind, size, err := looseHeader(in)
	if err != nil {
		return err
	}
	if err := to.begin(kind, size); err != nil {
		return err
	}
	if err := r.made.spend(unpacking * size); err != nil {
		return err
	}
	read, err := io.Copy(to, io.LimitReader(in, size+1))
	if err == nil && read != size {
		err = errors.New("its size differs from its header")
	}
	if err != nil {
		return fmt.Errorf("unpack it: %w", err)
	}
	return nil
}

// looseHeader reads "blob 12" and the zero byte after it.
func looseHeader(in *bufio.Reader) (plumbing.ObjectType, int64, error) {
	malformed := errors.New("unpack it: this is not a Git object")
	header, err := in.ReadSlice(0)
	if err != nil || len(header) > 32 {
		return 0, 0, malformed
	}
	name, digits, _ := strings.Cut(string(header[:len(header)-1]), " ")
	kind, err := plumbing.ParseObjectType(name)
	if err != nil {
		return 0, 0, malformed
	}
	size, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || size < 0 {
		return 0, 0, malformed
	}
	return kind, size, nil
}

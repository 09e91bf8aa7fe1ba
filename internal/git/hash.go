package git

import (
	"encoding/hex"
	"fmt"
	"hash"
	"io/fs"
	"strconv"
	"strings"

	"github.com/pjbgf/sha1cd"
)

// Hash is the name of an object: the SHA-1 of its kind, size and content.
type Hash [20]byte

// ZeroHash is the name of no object.
var ZeroHash Hash

// IsHash reports whether a text is a whole hash.
func IsHash(text string) bool {
	_, err := hex.DecodeString(text)
	return err == nil && len(text) == hex.EncodedLen(len(ZeroHash))
}

// NewHash returns the hash of a text, or [ZeroHash] if it is not a whole hash.
func NewHash(text string) (h Hash) {
	if IsHash(text) {
		_, _ = hex.Decode(h[:], []byte(text))
	}
	return h
}

// String returns the 40 digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// IsZero reports whether the hash is the name of no object.
func (h Hash) IsZero() bool { return h == ZeroHash }

// HashOf returns the name of an object.
func HashOf(kind Kind, content []byte) Hash {
	h := newHasher(kind, int64(len(content)))
	_, _ = h.Write(content)
	return h.sum()
}

// hasher computes a hash. It detects the known attacks on SHA-1.
type hasher struct{ hash.Hash }

func newHasher(kind Kind, size int64) hasher {
	h := hasher{sha1cd.New()}
	_, _ = fmt.Fprintf(h, "%s %d\x00", kind, size)
	return h
}

// sum returns the hash, or [ZeroHash] for content that was made to have the hash of another one.
func (h hasher) sum() (sum Hash) {
	if digest, collision := h.Hash.(sha1cd.CollisionResistantHash).CollisionResistantSum(nil); !collision {
		copy(sum[:], digest)
	}
	return sum
}

// Kind is the kind of an object.
type Kind string

// The kinds of objects.
const (
	KindBlob   Kind = "blob"
	KindTree   Kind = "tree"
	KindCommit Kind = "commit"
	KindTag    Kind = "tag"
)

var kinds = []Kind{KindBlob, KindTree, KindCommit, KindTag}

// Mode is the mode of an entry of a tree.
type Mode uint32

// The modes that Git writes. Another one is not a regular file.
const (
	Dir        Mode = 0o040000
	Regular    Mode = 0o100644
	Executable Mode = 0o100755
	Symlink    Mode = 0o120000
	Submodule  Mode = 0o160000
)

// ParseMode reads octal digits.
func ParseMode(digits string) (Mode, error) {
	mode, err := strconv.ParseUint(digits, 8, 32)
	return Mode(mode), err
}

// String returns the mode with seven octal digits.
func (m Mode) String() string { return fmt.Sprintf("%07o", uint32(m)) }

// OnDisk returns the mode of a file on disk. An unknown mode, and a submodule, is [fs.ModeIrregular].
func (m Mode) OnDisk() fs.FileMode {
	switch m {
	case Regular:
		return 0o644
	case Executable:
		return 0o755
	case Symlink:
		return fs.ModeSymlink
	case Dir:
		return fs.ModeDir
	}
	return fs.ModeIrregular
}

// ReferenceName is the full name of a reference, such as refs/heads/main, or HEAD.
type ReferenceName string

// HEAD is the position of a work tree.
const HEAD ReferenceName = "HEAD"

const branches = "refs/heads/"

// Branch returns the reference of a branch.
func Branch(name string) ReferenceName { return ReferenceName(branches + name) }

// IsBranch reports whether the reference is a branch.
func (r ReferenceName) IsBranch() bool { return strings.HasPrefix(string(r), branches) }

// Short returns the name of a branch, or the name itself.
func (r ReferenceName) Short() string { return strings.TrimPrefix(string(r), branches) }

// String returns the full name.
func (r ReferenceName) String() string { return string(r) }

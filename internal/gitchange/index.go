package gitchange

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/go-git/go-git/v5/plumbing/filemode"
	githash "github.com/go-git/go-git/v5/plumbing/hash"
)

// index is Git's list of what the work tree holds (gitformat-index), versions 2
// to 4. Entries that are not touched keep every bit, which go-git's own writer
// would not. Extensions are left out when it is written: they only make Git
// faster, and those that do more are refused.
type index struct {
	version uint32
	entries []indexEntry
}

// indexEntry is one entry: ten numbers about the file, its mode among them, its
// hash, the flags, and the extended flags where the flags say so.
type indexEntry struct {
	fixed    [indexFixed]byte
	extended [2]byte
	name     string
}

const (
	indexFixed    = 62
	indexMode     = 24 // where the mode is in it
	indexHash     = 40
	indexFlags    = 60
	flagExtended  = 0x4000
	flagStage     = 0x3000
	flagName      = 0x0fff
	skipWorktree  = 0x4000 // of the extended flags
	maxIndexBytes = 256 << 20
)

var errIndex = errors.New("the index is malformed")

func (e *indexEntry) flags() uint16 { return binary.BigEndian.Uint16(e.fixed[indexFlags:]) }

func (e *indexEntry) version() version {
	v := version{Mode: filemode.FileMode(binary.BigEndian.Uint32(e.fixed[indexMode:]))}
	copy(v.Hash[:], e.fixed[indexHash:])
	return v
}

func (c *Clone) readIndex() (*index, error) {
	content, err := c.own.ReadFile("index")
	if errors.Is(err, fs.ErrNotExist) {
		return &index{version: 2}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read index: %w", err)
	}
	if len(content) > maxIndexBytes {
		return nil, fmt.Errorf("read index: it has more than %d bytes", maxIndexBytes)
	}
	x, err := parseIndex(content)
	if err != nil {
		return nil, fmt.Errorf("read index: %w", err)
	}
	return x, nil
}

func parseIndex(content []byte) (*index, error) {
	if len(content) < 12+githash.Size || string(content[:4]) != "DIRC" {
		return nil, errIndex
	}
	body, sum := content[:len(content)-githash.Size], content[len(content)-githash.Size:]
	// Git writes zeros with index.skipHash.
	if !bytes.Equal(sum, sumOf(body)) && !bytes.Equal(sum, make([]byte, githash.Size)) {
		return nil, fmt.Errorf("%w: its checksum is another", errIndex)
	}
	x := &index{version: binary.BigEndian.Uint32(body[4:])}
	if x.version < 2 || x.version > 4 {
		return nil, fmt.Errorf("its version is %d, and 2 to 4 are known", x.version)
	}
	count, rest := binary.BigEndian.Uint32(body[8:]), body[12:]
	previous := ""
	for range count {
		var e indexEntry
		var err error
		if e, rest, err = x.parseEntry(rest, previous); err != nil {
			return nil, err
		}
		switch extended := binary.BigEndian.Uint16(e.extended[:]); {
		case e.flags()&flagStage != 0:
			return nil, fmt.Errorf("%q is in the middle of a merge", e.name)
		case extended&skipWorktree != 0 || e.version().Mode == filemode.Dir:
			return nil, errors.New("this is a sparse checkout: make a whole one (git sparse-checkout disable)")
		}
		x.entries, previous = append(x.entries, e), e.name
	}
	return x, checkExtensions(rest)
}

func (x *index) parseEntry(rest []byte, previous string) (indexEntry, []byte, error) {
	var e indexEntry
	if len(rest) < indexFixed+2 {
		return e, nil, errIndex
	}
	copy(e.fixed[:], rest)
	length := indexFixed
	if e.flags()&flagExtended != 0 {
		copy(e.extended[:], rest[indexFixed:])
		length += 2
	}
	if x.version == 4 {
		strip, n := varint(rest[length:])
		end := bytes.IndexByte(rest[length+n:], 0)
		if n == 0 || end < 0 || strip > len(previous) {
			return e, nil, errIndex
		}
		e.name = previous[:len(previous)-strip] + string(rest[length+n:length+n+end])
		return e, rest[length+n+end+1:], nil
	}
	end := bytes.IndexByte(rest[length:], 0)
	if end < 0 {
		return e, nil, errIndex
	}
	e.name = string(rest[length : length+end])
	// One to eight zero bytes follow, so that entries begin at multiples of eight.
	if length += end; len(rest) < length+8-length%8 {
		return e, nil, errIndex
	}
	return e, rest[length+8-length%8:], nil
}

// varint reads the number that OFS_DELTA's offsets are written as. n is 0 where
// there is none.
func varint(b []byte) (value, n int) {
	for n < len(b) && n < 5 {
		value = value<<7 | int(b[n]&0x7f)
		n++
		if b[n-1]&0x80 == 0 {
			return value, n
		}
		value++
	}
	return 0, 0
}

func appendVarint(b []byte, value int) []byte {
	encoded := []byte{byte(value & 0x7f)}
	for value >>= 7; value > 0; value >>= 7 {
		value--
		encoded = append(encoded, byte(value&0x7f)|0x80)
	}
	slices.Reverse(encoded)
	return append(b, encoded...)
}

// checkExtensions refuses an extension that the entries cannot be understood
// without: those in lower case, such as a split index.
func checkExtensions(rest []byte) error {
	for len(rest) > 0 {
		if len(rest) < 8 {
			return errIndex
		}
		size := int64(binary.BigEndian.Uint32(rest[4:]))
		if int64(len(rest)) < 8+size {
			return errIndex
		}
		if rest[0] < 'A' || rest[0] > 'Z' {
			return fmt.Errorf("it has the extension %q, which is not supported (for link, a split index: git update-index --no-split-index)", rest[:4])
		}
		rest = rest[8+size:]
	}
	return nil
}

func (x *index) find(name string) (int, bool) {
	return slices.BinarySearchFunc(x.entries, name, func(e indexEntry, name string) int { return cmp.Compare(e.name, name) })
}

// lookup returns what the index has at a path.
func (x *index) lookup(name string) version {
	if i, found := x.find(name); found {
		return x.entries[i].version()
	}
	return version{}
}

// set gives a path another version. stat is what Git would note of the file.
func (x *index) set(name string, to version, stat [indexMode]byte, owner [12]byte) {
	i, found := x.find(name)
	if to.absent() {
		if found {
			x.entries = slices.Delete(x.entries, i, i+1)
		}
		return
	}
	e := indexEntry{name: name}
	copy(e.fixed[:], stat[:])
	binary.BigEndian.PutUint32(e.fixed[indexMode:], uint32(to.Mode))
	copy(e.fixed[indexMode+4:], owner[:])
	copy(e.fixed[indexHash:], to.Hash[:])
	binary.BigEndian.PutUint16(e.fixed[indexFlags:], uint16(min(len(name), flagName)))
	if found {
		x.entries[i] = e
	} else {
		x.entries = slices.Insert(x.entries, i, e)
	}
}

func (x *index) encode() []byte {
	content := []byte("DIRC")
	content = binary.BigEndian.AppendUint32(content, x.version)
	content = binary.BigEndian.AppendUint32(content, uint32(len(x.entries))) // #nosec G115 -- it was read from 32 bits
	previous := ""
	for _, e := range x.entries {
		start := len(content)
		content = append(content, e.fixed[:]...)
		if e.flags()&flagExtended != 0 {
			content = append(content, e.extended[:]...)
		}
		if x.version == 4 {
			same := 0
			for same < len(previous) && same < len(e.name) && previous[same] == e.name[same] {
				same++
			}
			content = appendVarint(content, len(previous)-same)
			content = append(append(content, e.name[same:]...), 0)
			previous = e.name
			continue
		}
		content = append(content, e.name...)
		content = append(content, make([]byte, 8-(len(content)-start)%8)...)
	}
	return append(content, sumOf(content)...)
}

func sumOf(content []byte) []byte {
	h := githash.New(githash.CryptoType)
	_, _ = h.Write(content)
	return h.Sum(nil)
}

// noted is what the index says of a file for Git to see at a glance that it has
// not changed since. Nothing noted costs Git a look into the file.
func (c *Clone) noted(name string) (stat [indexMode]byte, owner [12]byte) {
	info, err := c.work.Lstat(name)
	if err != nil {
		return stat, owner
	}
	return statOf(info)
}

package git

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
)

// pack is a file of many objects and its index (gitformat-pack, version 2 of pack-*.idx). The index
// has 256 counts by first byte, the sorted object names, their checksums and their offsets.
type pack struct {
	name    string
	index   *os.File
	objects *os.File
	scanner *packfile.Scanner
	counts  [256]uint32 // number of names that begin with this byte or a lower one
	size    int64       // of the pack
	made    *made       // shared by all packs
}

const (
	indexHeader  = 8 + 256*4
	indexTrailer = 2 * 20
	// perObject is the size of a name, a checksum and an offset.
	perObject = 20 + 4 + 4
)

var indexMagic = []byte{0xff, 't', 'O', 'c', 0, 0, 0, 2}

var errPack = errors.New("malformed pack")

func (r *Repository) openPacks() error {
	if r.packs != nil {
		return nil
	}
	entries, err := fs.ReadDir(r.store.FS(), "pack")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("list packs: %w", err)
	}
	packs := []*pack{}
	for _, entry := range entries {
		name := entry.Name()
		base, isPack := strings.CutSuffix(name, ".pack")
		if !isPack || !strings.HasPrefix(name, "pack-") {
			continue
		}
		p, err := r.openPack("pack/" + base)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a pack without an index is being written or deleted
		}
		if err == nil {
			packs = append(packs, p)
		}
		if err == nil && len(packs) > maxPacks {
			err = fmt.Errorf("there are more than %d packs: git gc combines them", maxPacks)
		}
		if err != nil {
			return errors.Join(fmt.Errorf("open %s: %w", base, err), closePacks(packs))
		}
	}
	r.packs = packs
	return nil
}

func closePacks(packs []*pack) error {
	var errs []error
	for _, p := range packs {
		errs = append(errs, p.close())
	}
	return errors.Join(errs...)
}

func (r *Repository) openPack(base string) (p *pack, err error) {
	p = &pack{name: base, made: &r.made}
	defer func() {
		if err != nil {
			_ = p.close()
		}
	}()
	if p.index, err = open(r.store, base+".idx"); err != nil {
		return p, err
	}
	if p.objects, err = open(r.store, base+".pack"); err != nil {
		return p, err
	}
	info, err := p.objects.Stat()
	if err != nil {
		return p, err
	}
	p.size, p.scanner = info.Size(), packfile.NewScanner(p.objects)
	return p, p.readCounts()
}

// readCounts reads the header of the index. The number of objects must fit into the file.
func (p *pack) readCounts() error {
	info, err := p.index.Stat()
	if err != nil {
		return err
	}
	header := make([]byte, indexHeader)
	if _, err := p.index.ReadAt(header, 0); err != nil || !bytes.HasPrefix(header, indexMagic) {
		return fmt.Errorf("%w: its index is not one of version 2", errPack)
	}
	for i := range p.counts {
		p.counts[i] = binary.BigEndian.Uint32(header[8+4*i:])
		if i > 0 && p.counts[i] < p.counts[i-1] {
			return fmt.Errorf("%w: its index is out of order", errPack)
		}
	}
	if info.Size() < indexHeader+int64(p.counts[255])*perObject+indexTrailer {
		return fmt.Errorf("%w: its index is truncated", errPack)
	}
	return nil
}

func (p *pack) close() error {
	var errs []error
	for _, f := range []*os.File{p.index, p.objects} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

// find returns the offset of an object in the pack. It does a binary search and reads the last
// names at once.
func (p *pack) find(hash plumbing.Hash) (offset int64, found bool, err error) {
	low, high := uint32(0), p.counts[hash[0]]
	if hash[0] > 0 {
		low = p.counts[hash[0]-1]
	}
	const atOnce = 128
	var names [atOnce * len(hash)]byte
	for high-low > atOnce {
		middle := low + (high-low)/2
		name := names[:len(hash)]
		if _, err := p.index.ReadAt(name, nameAt(middle)); err != nil {
			return 0, false, err
		}
		if bytes.Compare(name, hash[:]) > 0 {
			high = middle
		} else {
			low = middle
		}
	}
	if _, err := p.index.ReadAt(names[:int(high-low)*len(hash)], nameAt(low)); err != nil {
		return 0, false, err
	}
	for i := range int(high - low) {
		if bytes.Equal(names[i*len(hash):][:len(hash)], hash[:]) {
			offset, err := p.place(low + uint32(i)) //nolint:gosec // less than atOnce
			return offset, err == nil, err
		}
	}
	return 0, false, nil
}

func nameAt(number uint32) int64 {
	return indexHeader + int64(len(plumbing.Hash{}))*int64(number)
}

// place returns the offset of an object by its number in the index. Offsets above two gigabytes are
// in a separate table.
func (p *pack) place(number uint32) (int64, error) {
	count := int64(p.counts[255])
	var raw [8]byte
	if _, err := p.index.ReadAt(raw[:4], indexHeader+24*count+4*int64(number)); err != nil {
		return 0, err
	}
	const far = 1 << 31
	place := int64(binary.BigEndian.Uint32(raw[:4]))
	if place&far != 0 {
		if _, err := p.index.ReadAt(raw[:], indexHeader+perObject*count+8*(place&^far)); err != nil {
			return 0, err
		}
		place = int64(binary.BigEndian.Uint32(raw[:4]))<<32 | int64(binary.BigEndian.Uint32(raw[4:]))
	}
	if place < 0 || place >= p.size {
		return 0, fmt.Errorf("%w: an object begins after its end", errPack)
	}
	return place, nil
}

// object reads the object at an offset. Most objects are deltas of another object, which can be a
// delta too. The deltas are read down to the whole object, and then applied in reverse order.
func (p *pack) object(offset int64, to *object) error {
	var changes [][]byte
	held := int64(0)
	var asked []place // the offsets of the deltas' results, the last result first
	for len(changes) <= maxChain {
		at := place{p, offset}
		if whole := p.made.at[at]; whole != nil {
			return p.apply(whole, p.made.kind[at], changes, asked, to)
		}
		header, err := p.scanner.SeekObjectHeader(offset)
		if err != nil {
			return fmt.Errorf("%w: %w", errPack, unexpected(err))
		}
		if len(changes) == 0 && !header.Type.IsDelta() && header.Length > to.most {
			return p.large(header, to)
		}
		if held += header.Length; header.Length < 0 || held > maxHeld {
			return fmt.Errorf("%w: its base and deltas have more than %d bytes", ErrTooLarge, maxHeld)
		}
		if err := p.made.spend(unpacking * header.Length); err != nil {
			return err
		}
		content := bytes.NewBuffer(make([]byte, 0, header.Length+bytes.MinRead))
		if _, _, err := p.scanner.NextObject(content); err != nil {
			return fmt.Errorf("%w: %w", errPack, unexpected(err))
		}
		if int64(content.Len()) != header.Length {
			return fmt.Errorf("%w: the size of an object differs from its header", errPack)
		}
		switch header.Type {
		case plumbing.OFSDeltaObject:
			offset = header.OffsetReference
		case plumbing.REFDeltaObject:
			base, found, err := p.find(header.Reference)
			if err != nil {
				return err
			}
			if !found {
				return fmt.Errorf("%w: the base of an object is not in it", errPack)
			}
			offset = base
		default:
			p.made.keep(at, header.Type, content.Bytes())
			return p.apply(content.Bytes(), header.Type, changes, asked, to)
		}
		changes, asked = append(changes, content.Bytes()), append(asked, at)
	}
	return fmt.Errorf("%w: an object has more than %d bases", errPack, maxChain)
}

// large streams an object that is not a delta.
func (p *pack) large(header *packfile.ObjectHeader, to *object) error {
	err := to.begin(header.Type, header.Length)
	if err == nil {
		err = p.made.spend(unpacking * header.Length)
	}
	if err == nil {
		_, _, err = p.scanner.NextObject(to)
	}
	return unexpected(err)
}

// made caches the results of deltas by pack and offset, because other objects use them as a base.
// They are not checked against their hashes. The check of each returned object covers them.
type made struct {
	at   map[place][]byte
	kind map[place]plumbing.ObjectType
	size int
	// left is the remaining work for the present tree, if bounded. A walk through history has no
	// such limit.
	left    int64
	bounded bool
}

func (m *made) spend(bytes int64) error {
	if m.left -= bytes; m.bounded && m.left < 0 {
		return errors.New("the objects of this commit take too much work to unpack: if you trust the repository, run git repack -a -d -f")
	}
	return nil
}

type place struct {
	pack   *pack
	offset int64
}

// keep caches an object. If the cache is full, it is cleared first.
func (m *made) keep(at place, kind plumbing.ObjectType, content []byte) {
	if m.at[at] != nil || len(content) == 0 || len(content) > maxKept {
		return
	}
	if m.at == nil || m.size+len(content) > maxKept {
		m.at, m.kind, m.size = map[place][]byte{}, map[place]plumbing.ObjectType{}, 0
	}
	m.at[at], m.kind[at] = content, kind
	m.size += len(content)
}

// apply applies deltas to a whole object, the last one first, and caches the results. Each delta
// begins with the sizes of its base and its result.
func (p *pack) apply(whole []byte, kind plumbing.ObjectType, changes [][]byte, at []place, to *object) error {
	made, held := uint64(0), uint64(0)
	for _, change := range changes {
		held += uint64(len(change))
	}
	for i := len(changes) - 1; i >= 0; i-- {
		_, n := binary.Uvarint(changes[i])
		size, m := binary.Uvarint(changes[i][max(n, 0):])
		if n <= 0 || m <= 0 {
			return fmt.Errorf("%w: a delta does not state its size", errPack)
		}
		if room := maxHeld - held; size > room || uint64(len(whole)) > room-size {
			return fmt.Errorf("%w: its base, its deltas and the result have more than %d bytes", ErrTooLarge, maxHeld)
		}
		if made += size; made > maxMade {
			return fmt.Errorf("%w: it needs more than %d bytes to unpack", ErrTooLarge, maxMade)
		}
		if err := p.made.spend(int64(size)); err != nil { //nolint:gosec // at most maxHeld
			return err
		}
		var err error
		if whole, err = packfile.PatchDelta(whole, changes[i]); err != nil {
			return fmt.Errorf("%w: %w", errPack, err)
		}
		p.made.keep(at[i], kind, whole)
	}
	if err := to.begin(kind, int64(len(whole))); err != nil {
		return err
	}
	_, err := to.Write(whole)
	return err
}

// unexpected returns an unexpected end of a pack as [io.ErrUnexpectedEOF], so that callers do not
// read it as the end of the input.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

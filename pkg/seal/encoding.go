package seal

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"strings"
	"sync"

	"github.com/polex-dev/polex/pkg/exception"
)

// Limits of decoded values, in bytes.
const (
	maxMessage     = exception.MaxDocument
	maxSignature   = 4 << 10
	maxCertificate = 64 << 10
	maxRekorBundle = 64 << 10 // a genuine one has a few KiB
	maxBundle      = 256 << 10
)

func decodeBase64(text string, limit int) ([]byte, error) {
	if len(text) > base64.StdEncoding.EncodedLen(limit) {
		return nil, fmt.Errorf("longer than %d KiB", limit>>10)
	}
	// The decoder would skip line breaks, and two spellings of one value are
	// one too many.
	if strings.ContainsAny(text, "\r\n") {
		return nil, errors.New("a line break in base64")
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, errors.New("not base64")
	}
	return raw, nil
}

// gzipHeader is what every writer of seals puts before the data: no name, no time,
// no system (RFC 1952, 2.3). It carries nothing, so there is one spelling of it.
var gzipHeader = []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff}

const gzipTrailer = 8 // bytes: checksum and size

// emptyBlock is the length of nothing, and its complement.
var emptyBlock = []byte{0, 0, 0xff, 0xff}

// gzipReaders are used again: one takes 40 KiB, more than all else that opening a seal
// takes.
var gzipReaders = sync.Pool{New: func() any { return new(gzip.Reader) }}

// unpacker undoes base64 and one layer of gzip, for one value after the other.
type unpacker struct {
	values []packedValue
	again  []byte // what one value is unpacked into to check its spelling
}

// packedValue is a value as it was written, and what it unpacks to.
type packedValue struct {
	key         string
	packed, out []byte
}

// unpack reads no more than limit bytes of what comes out, whatever the header
// promises.
func (u *unpacker) unpack(key, text string, limit int) ([]byte, error) {
	packed, err := decodeBase64(text, limit+limit/2+1024)
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(packed, gzipHeader) || len(packed) <= len(gzipHeader)+gzipTrailer {
		return nil, errors.New("not gzip, or with a header that says something")
	}
	out, err := gunzip(make([]byte, 0, min(limit, 3*len(packed))), packed, limit)
	if err != nil {
		return nil, err
	}
	u.values = append(u.values, packedValue{key, packed, out})
	return out, nil
}

// checkSpelling refuses values of which one could be written in another way.
func (u *unpacker) checkSpelling() error {
	for _, v := range u.values {
		if u.another(v) {
			return formatError(v.key, "the gzip data ends in bits that say nothing")
		}
	}
	return nil
}

// another reports whether a value could be written in another way. The last byte of
// the data, or the one before the empty block that most writers end with (RFC 1951,
// 3.2.4), can have bits to spare. They are its highest, and zero: else clearing the
// highest that is set would change nothing.
func (u *unpacker) another(v packedValue) bool {
	last := &v.packed[len(v.packed)-gzipTrailer-1]
	if data := v.packed[:len(v.packed)-gzipTrailer]; bytes.HasSuffix(data[len(gzipHeader):], emptyBlock) && len(data) > len(gzipHeader)+len(emptyBlock) {
		last = &data[len(data)-len(emptyBlock)-1]
	}
	if *last == 0 {
		return false
	}
	highest := byte(1) << (bits.Len8(*last) - 1)
	*last ^= highest
	same, err := gunzip(u.again[:0], v.packed, len(v.out))
	*last ^= highest
	u.again = same
	return err == nil && bytes.Equal(same, v.out)
}

// gunzip unpacks into the memory of a slice, as far as it suffices.
func gunzip(into, packed []byte, limit int) ([]byte, error) {
	in := bytes.NewReader(packed)
	z := gzipReaders.Get().(*gzip.Reader)
	defer gzipReaders.Put(z)
	if err := z.Reset(in); err != nil {
		return nil, errors.New("not gzip")
	}
	z.Multistream(false)
	out := bytes.NewBuffer(into)
	if _, err := out.ReadFrom(io.LimitReader(z, int64(limit)+1)); err != nil {
		return nil, errors.New("broken gzip")
	}
	if out.Len() > limit {
		return nil, fmt.Errorf("it unpacks to more than %d KiB", limit>>10)
	}
	if in.Len() > 0 {
		return nil, errors.New("something follows the gzip data")
	}
	return out.Bytes(), nil
}

// packer writes values of annotations. What it compresses with is large, and is
// used again for each.
type packer struct {
	z   *gzip.Writer
	out bytes.Buffer
}

func (p *packer) pack(raw []byte) (string, error) {
	p.out.Reset()
	if p.z == nil {
		p.z = gzip.NewWriter(&p.out)
	} else {
		p.z.Reset(&p.out)
	}
	if _, err := p.z.Write(raw); err != nil {
		return "", fmt.Errorf("gzip: %w", err)
	}
	if err := p.z.Close(); err != nil {
		return "", fmt.Errorf("gzip: %w", err)
	}
	return base64.StdEncoding.EncodeToString(p.out.Bytes()), nil
}

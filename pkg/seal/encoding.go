package seal

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"strings"
	"sync"
)

// Limits of decoded values, in bytes.
const (
	maxMessage     = 1 << 20
	maxSignature   = 4 << 10
	maxCertificate = 64 << 10
	maxRekorBundle = 64 << 10 // a real one has a few KiB
	maxBundle      = 256 << 10

	maxRekorBundleNodes = 100 // values in a Rekor bundle; a real one has about 20
)

func decodeBase64(text string, limit int) ([]byte, error) {
	if len(text) > base64.StdEncoding.EncodedLen(limit) {
		return nil, fmt.Errorf("longer than %d KiB", limit>>10)
	}
	// The decoder ignores line breaks, so one value would have several encodings.
	if strings.ContainsAny(text, "\r\n") {
		return nil, errors.New("a line break in base64")
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, errors.New("not base64")
	}
	return raw, nil
}

// gzipHeader is the header that all tools write: no name, no time, no system (RFC 1952, 2.3). Any
// other is rejected, so that each value has one encoding.
var gzipHeader = []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff}

const gzipTrailer = 8 // bytes: checksum and size

// emptyBlock is the zero length of an empty block and its complement.
var emptyBlock = []byte{0, 0, 0xff, 0xff}

// gzipReaders are reused. One takes 40 KiB, more than the rest of reading a signature.
var gzipReaders = sync.Pool{New: func() any { return new(gzip.Reader) }}

// unpacker decodes base64 and one layer of gzip, one value after the other.
type unpacker struct {
	values []packedValue
	again  []byte // buffer for checkSpelling
}

// packedValue is a value in both forms, encoded and decoded.
type packedValue struct {
	key         string
	packed, out []byte
}

// unpack decodes at most limit bytes, without trust in the sizes in the data.
func (u *unpacker) unpack(key, text string, limit int) ([]byte, error) {
	packed, err := decodeBase64(text, limit+limit/2+1024)
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(packed, gzipHeader) || len(packed) <= len(gzipHeader)+gzipTrailer {
		return nil, errors.New("not gzip, or its header has more than the fixed bytes")
	}
	out, err := gunzip(make([]byte, 0, min(limit, 3*len(packed))), packed, limit)
	if err != nil {
		return nil, err
	}
	u.values = append(u.values, packedValue{key, packed, out})
	return out, nil
}

// checkSpelling rejects a value that has a second valid encoding.
func (u *unpacker) checkSpelling() error {
	for _, v := range u.values {
		if u.another(v) {
			return formatError(v.key, "the unused bits at the end of the gzip data are not zero")
		}
	}
	return nil
}

// another reports whether a value has a second valid encoding. The last byte of the data can have
// unused bits. It can also be the byte before the empty block at the end (RFC 1951, 3.2.4). Unused
// bits are the highest ones and must be zero. If clearing the highest set bit changes nothing, that
// bit is unused.
func (u *unpacker) another(v packedValue) bool {
	last := &v.packed[len(v.packed)-gzipTrailer-1]
	if data := v.packed[:len(v.packed)-gzipTrailer]; bytes.HasSuffix(data[len(gzipHeader):], emptyBlock) &&
		len(data) > len(gzipHeader)+len(emptyBlock) {
		last = &data[len(data)-len(emptyBlock)-1]
	}
	if *last == 0 {
		return false
	}
	highest := byte(1) << (bits.Len8(*last) - 1)
	*last ^= highest
	same, err := gunzip(slices.Grow(u.again[:0], len(v.out)+bytes.MinRead), v.packed, len(v.out))
	*last ^= highest
	u.again = same
	return err == nil && bytes.Equal(same, v.out)
}

// gunzip unpacks into a slice, and grows it if needed.
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
		return nil, errors.New("there is more data after the gzip data")
	}
	return out.Bytes(), nil
}

// packer encodes values of annotations. It reuses its compressor, which is large.
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

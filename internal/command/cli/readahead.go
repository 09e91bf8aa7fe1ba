package cli

import (
	"bytes"
	"io"
	"io/fs"
	"os"

	"github.com/polex-dev/polex/pkg/exception"
)

// maxAhead is the maximum size of a file that is read and parsed ahead, in bytes. A signed exception
// has about 14 KB.
const maxAhead = 64 << 10

// contents is a file that was opened ahead.
type contents struct {
	skipped bool
	err     error
	file    *os.File    // of a file that is read as a stream, because it is not small
	info    fs.FileInfo // of a regular file
	parsed  []parsed    // of a small file
}

// parsed is a result of [exception.Reader.Next].
type parsed struct {
	doc *exception.Document
	err error
}

// ahead opens a file, unless it is skipped. It runs for several files in parallel.
func (in Inputs) ahead(path string) *contents {
	if path == "-" {
		return &contents{}
	}
	c := in.open(path)
	// Most files begin with an exception, and need not be read again to know that.
	first := len(c.parsed) > 0 && c.parsed[0].err == nil && c.parsed[0].doc.Text("kind") == "PolicyException"
	if in.Skip != nil && !first && in.Skip(path) {
		if c.file != nil {
			_ = c.file.Close() // nothing was written
		}
		return &contents{skipped: true}
	}
	return c
}

// open opens a file, and parses it if it is small.
func (in Inputs) open(path string) *contents {
	f, err := os.Open(path) // #nosec G304 -- the user names the file
	if err != nil {
		return &contents{err: err}
	}
	c := &contents{file: f}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		c.info = info
	}
	if c.info == nil || c.info.Size() > maxAhead {
		return c
	}
	text, err := io.ReadAll(io.LimitReader(f, maxAhead+1))
	if len(text) > maxAhead { // it has grown, or does not state its size, such as in /proc
		_, c.err = f.Seek(0, io.SeekStart)
		return c
	}
	c.file, c.err = nil, err
	_ = f.Close() // only read
	if err != nil {
		return c
	}
	for doc, err := range in.reader(bytes.NewReader(text), path).All() {
		c.parsed = append(c.parsed, parsed{doc, err})
	}
	return c
}

// contents calls visit for every document of a file that was opened ahead.
func (in Inputs) contents(path string, c *contents, visit func(*exception.Document)) {
	if c.info != nil {
		if in.Report.read == nil {
			in.Report.read = map[string]fs.FileInfo{}
		}
		in.Report.read[path] = c.info
	}
	switch {
	case path == "-":
		in.Stream(in.Stdin, "<stdin>", visit)
	case c.skipped:
		in.Report.Skipped++
	case c.err != nil:
		in.unreadable(path, c.err)
	case c.file != nil:
		in.Stream(c.file, path, visit)
		_ = c.file.Close() // only read
	default:
		in.documents(path, func(yield func(*exception.Document, error) bool) {
			for i := range c.parsed {
				if !yield(c.parsed[i].doc, c.parsed[i].err) {
					return
				}
			}
		}, visit)
	}
}

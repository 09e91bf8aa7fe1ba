package cli

import (
	"bytes"
	"io"
	"os"

	"github.com/polex-dev/polex/pkg/exception"
)

// maxAhead is the maximum size of a file that is read and parsed ahead, in bytes. A signed exception
// has about 14 KB.
const maxAhead = 64 << 10

// next is a result of [exception.Reader.Next].
type next struct {
	doc *exception.Document
	err error
}

type parsed []next

func (p parsed) all(yield func(*exception.Document, error) bool) {
	for i := range p {
		if !yield(p[i].doc, p[i].err) {
			return
		}
	}
}

type visitor = func(*exception.Document)

// ahead opens a file, unless it is skipped, and parses it if it is small. It runs for several files in parallel. The
// function that it returns visits the documents and adds to the report, on the goroutine of the caller.
func (in Inputs) ahead(path string) func(visitor) {
	if path == "-" {
		return func(visit visitor) { in.Stream(in.Stdin, "<stdin>", visit) }
	}
	f, err := os.Open(path) // #nosec G304 -- the user names the file
	if err != nil {
		return func(visitor) { in.Unreadable(path, err) }
	}
	documents, isSmall, err := in.small(f, path)
	// Most files begin with an exception, and need not be read again to know that.
	first := len(documents) > 0 && documents[0].err == nil && documents[0].doc.Text("kind") == exception.Kind
	skips := in.Skip != nil && !first && in.Skip(path)
	if isSmall || skips || err != nil {
		_ = f.Close() // only read
	}
	switch {
	case skips:
		return func(visitor) { in.Report.Skipped++ }
	case err != nil:
		return func(visitor) { in.Unreadable(path, err) }
	case isSmall:
		return func(visit visitor) { in.documents(path, documents.all, visit) }
	}
	return func(visit visitor) {
		in.Stream(f, path, visit)
		_ = f.Close() // only read
	}
}

// small returns the documents of a small regular file. Other files are read as a stream.
func (in Inputs) small(f *os.File, path string) (documents parsed, isSmall bool, err error) {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxAhead {
		return nil, false, nil //nolint:nilerr // reading it reports the error
	}
	text, err := io.ReadAll(io.LimitReader(f, maxAhead+1))
	if err != nil {
		return nil, false, err
	}
	if len(text) > maxAhead { // it has grown, or does not state its size, such as in /proc
		_, err = f.Seek(0, io.SeekStart)
		return nil, false, err
	}
	for doc, err := range in.reader(bytes.NewReader(text), path).All() {
		documents = append(documents, next{doc, err})
	}
	return documents, true, nil
}

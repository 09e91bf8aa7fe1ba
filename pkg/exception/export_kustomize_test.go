package exception

import "io"

// AskedKustomize reports whether kustomize was asked about the document.
func (d *Document) AskedKustomize() bool { return d.rendered }

// Undeployed returns a reader of documents that kustomize never reads.
func Undeployed(r io.Reader) *Reader {
	reader := NewReader(r, "file")
	reader.undeployed = true
	return reader
}

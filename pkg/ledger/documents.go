package ledger

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/gittree"
)

// blob is what one object of a file holds.
type blob struct {
	raw       []byte // until it is read
	signed    bool   // it was under signed/ once: its documents are verified
	documents []*found
	// bad are the parts that cannot be read.
	bad []*exception.SyntaxError
	// problem says why nothing of it was read.
	problem string
}

// document tells one from another: which object it is, and every byte.
type document struct {
	identity exception.IdentityKey
	digest   [sha256.Size]byte
}

// found is a document and what is said of it.
type found struct {
	key      document
	identity exception.Identity
	assessment
}

// documents reads every content that the steps name once, and verifies what was
// under signed/.
func (r *reading) documents() error {
	r.blobs = map[plumbing.Hash]*blob{}
	var order []plumbing.Hash
	note := func(c content, signed bool) {
		if !c.File {
			return
		}
		b := r.blobs[c.Hash]
		if b == nil {
			b = &blob{}
			r.blobs[c.Hash] = b
			order = append(order, c.Hash)
		}
		b.signed = b.signed || signed
	}
	for _, s := range r.line {
		for _, c := range s.changes {
			note(c.New, c.Signed)
		}
	}
	for _, s := range r.beside {
		for _, c := range s.changes {
			if c.Signed {
				note(c.New, true)
			}
		}
	}
	return r.read(order)
}

// read reads contents one after the other, and looks at them on all workers.
func (r *reading) read(order []plumbing.Hash) error {
	work := make(chan *blob, 2*r.Workers)
	var workers sync.WaitGroup
	for range r.Workers {
		workers.Go(func() {
			for b := range work {
				r.look(b)
			}
		})
	}
	var err error
	documents := 0
	for i, hash := range order {
		if i%50 == 0 {
			r.Progress("verifying", i, len(order))
		}
		b := r.blobs[hash]
		if b.raw, err = r.repository.Blob(hash); errors.Is(err, gittree.ErrTooLarge) {
			b.problem, err = err.Error(), nil
			continue
		}
		if err != nil {
			break
		}
		// Counted before they are read: what separates documents stands at the
		// beginning of a line.
		if documents += 1 + bytes.Count(b.raw, []byte("\n---")); documents > MaxDocuments {
			err = tooMuch(MaxDocuments, "documents")
			break
		}
		work <- b
	}
	close(work)
	workers.Wait()
	return err
}

// look reads the documents of a content.
func (r *reading) look(b *blob) {
	raw := b.raw
	b.raw = nil
	reader := exception.NewReader(bytes.NewReader(raw), "")
	for {
		doc, err := reader.Next()
		var bad *exception.SyntaxError
		switch {
		case errors.Is(err, io.EOF):
			return
		case errors.As(err, &bad):
			b.bad = append(b.bad, bad)
			if len(b.bad) > maxListed {
				return
			}
			continue
		case err != nil:
			b.problem = err.Error()
			return
		}
		f := &found{identity: doc.Identity(),
			key: document{doc.Identity().Key(), sha256.Sum256(doc.Source())}}
		if b.signed {
			f.assessment = assess(r.Verifier, doc, r.at)
		} else {
			f.assessment = claims(doc)
		}
		b.documents = append(b.documents, f)
	}
}

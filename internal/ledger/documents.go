package ledger

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/verify"
)

// blob is what one object of a file holds.
type blob struct {
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

// source is a content in a folder: of what was signed another question is asked than
// of what was not, also where both are one object.
type source struct {
	content
	signed bool
}

// gather reads the history and every content that it names. Contents are looked at on
// all workers, while the history is read.
func (r *reading) gather(tip plumbing.Hash) error {
	r.blobs = map[source]*blob{}
	r.workers.SetLimit(r.Workers)
	defer r.workers.Wait() //nolint:errcheck // none of them fails
	if err := r.history(tip); err != nil {
		return err
	}
	return r.documents()
}

// documents takes what the steps name. What was read of the history itself has been
// taken before; what is remembered is believed only now, when it has added up.
func (r *reading) documents() error {
	total := len(r.line) + len(r.beside)
	for i, s := range slices.Concat(r.line, r.beside) {
		if i%50 == 0 {
			r.Progress("verifying", i, total)
		}
		if err := r.take(s); err != nil {
			return err
		}
	}
	return nil
}

// take reads the contents that a step brings, each once, and hands them to the
// workers. Of commits beside the line, what they ask for is no matter.
func (r *reading) take(s *step) error {
	for _, c := range s.changes {
		if !c.New.File || !c.Signed && s.beside {
			continue
		}
		key := c.brings()
		if r.blobs[key] != nil {
			continue
		}
		b := &blob{}
		r.blobs[key] = b
		raw, err := r.repository.Blob(c.New.Hash)
		if errors.Is(err, git.ErrTooLarge) {
			b.problem = err.Error()
			continue
		}
		if err != nil {
			return err
		}
		// Counted before they are read: what separates documents stands at the
		// beginning of a line.
		if r.counted += 1 + bytes.Count(raw, []byte("\n---")); r.counted > MaxDocuments {
			return tooMuch(MaxDocuments, "documents")
		}
		r.workers.Go(func() error {
			r.look(b, raw, c.Signed)
			return nil
		})
	}
	return nil
}

// other reports whether a document is of another kind than exceptions, and of none that the
// trust policy names: a kustomization.yaml or a policy beside them.
func (r *reading) other(doc *exception.Document) bool {
	kind := strings.ToLower(doc.GroupKind().Kind)
	if kind == "" || strings.HasPrefix(kind, "policyexception") || strings.HasSuffix(kind, "list") {
		return false
	}
	verdict, _ := verdictOf(r.Verifier.Examine(doc).At(r.at))
	return verdict.Reason == verify.ReasonKindNotAllowed
}

// look reads the documents of a content.
func (r *reading) look(b *blob, raw []byte, signed bool) {
	for doc, err := range exception.NewReader(bytes.NewReader(raw), "").All() {
		var bad *exception.SyntaxError
		switch {
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
		if r.other(doc) {
			continue
		}
		f := &found{identity: doc.Identity(),
			key: document{doc.Identity().Key(), sha256.Sum256(doc.Source())}}
		if signed {
			f.assessment = assess(r.Verifier, doc, r.at, r.Statements)
		} else {
			f.assessment = statements(doc, r.Verifier.Terms(), r.Statements)
		}
		b.documents = append(b.documents, f)
	}
}

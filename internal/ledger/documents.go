package ledger

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/internal/promotion/pending"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/verify"
)

// blob holds the parsed documents of a Git object.
type blob struct {
	documents []*Entry // without their place in the history
	// bad are the parts that could not be parsed.
	bad []*exception.SyntaxError
	// problem is the reason if the whole object could not be read, or "".
	problem string
}

// document identifies a document by its identity and the digest of its bytes.
type document struct {
	identity exception.IdentityKey
	digest   [sha256.Size]byte
}

// take reads a new content of a step once and gives it to the workers. It skips unsigned/ in
// merged commits, because requests count only on the line.
func (r *reading) take(s *step, c content) error {
	if !c.File || !c.Signed && s.beside || r.blobs[c] != nil {
		return nil
	}
	b := &blob{}
	r.blobs[c] = b
	raw, err := r.repository.Blob(c.Hash)
	if errors.Is(err, git.ErrTooLarge) {
		b.problem = err.Error()
		return nil
	}
	if err != nil {
		return err
	}
	// Count before parsing: a document separator is always at the beginning of a line.
	if r.counted += 1 + bytes.Count(raw, []byte("\n---")); r.counted > MaxDocuments {
		return tooMuch(MaxDocuments, "documents")
	}
	r.workers.Go(func() error {
		r.parse(b, raw, c.Signed)
		return nil
	})
	return nil
}

// other reports whether a document is neither an exception nor of a kind in the trust policy, such
// as a kustomization.yaml or a policy in the same folder.
func (r *reading) other(doc *exception.Document) bool {
	kind := strings.ToLower(doc.GroupKind().Kind)
	if kind == "" || strings.HasPrefix(kind, "policyexception") || strings.HasSuffix(kind, "list") {
		return kind == "" && pending.NeverHolds(doc.Source(), nil)
	}
	verdict, _ := verdictOf(r.Verifier.Examine(doc).At(r.at))
	return verdict.Reason == verify.ReasonKindNotAllowed
}

// parse reads the documents of a content and verifies those under signed/.
func (r *reading) parse(b *blob, raw []byte, signed bool) {
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
		var e *Entry
		if signed {
			e = assess(r.Verifier, doc, r.at, r.Statements)
			e.unknown = manifest.UnknownKeys(doc, slices.Concat(r.Statements.All(), r.Verifier.Terms().Keys))
		} else {
			e = statements(doc, r.Verifier.Terms(), r.Statements)
		}
		e.Identity, e.key = doc.Identity(), document{doc.Identity().Key(), sha256.Sum256(doc.Source())}
		b.documents = append(b.documents, e)
	}
}

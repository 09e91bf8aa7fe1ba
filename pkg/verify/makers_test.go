package verify_test

import (
	"strings"
	"testing"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
)

// maker makes the document of a case.
type maker = func(*testing.T, *world) *exception.Document

func honest(_ *testing.T, w *world) *exception.Document { return w.honest }

// forged signs the draft with sets of a malicious Sigstore.
func forged(sets ...set) maker {
	return func(t *testing.T, w *world) *exception.Document { return w.sealed(t, w.until(week), sets...) }
}

// resealed changes the honest signature annotations.
func resealed(bend func(*testing.T, *seal.Seal)) maker {
	return func(t *testing.T, w *world) *exception.Document {
		return w.resealed(t, func(s *seal.Seal) { bend(t, s) })
	}
}

// onlyV03 keeps only the Sigstore bundle of the honest signature, changed.
func onlyV03(bend func(*protobundle.Bundle)) maker {
	return resealed(func(t *testing.T, s *seal.Seal) {
		s.Signatures[0].Bundle = nil
		s.Signatures[0].BundleV03 = bent(t, s.Signatures[0].BundleV03, bend)
	})
}

// onlyOld keeps only cosign's bundle of the honest signature, changed.
func onlyOld(bend func(*seal.RekorBundle)) maker {
	return resealed(func(_ *testing.T, s *seal.Seal) {
		s.Signatures[0].BundleV03 = nil
		bend(s.Signatures[0].Bundle)
	})
}

// changed applies a changed object with the honest signature.
func changed(edit func(t *testing.T, root object)) maker {
	return func(t *testing.T, w *world) *exception.Document {
		return edited(t, w.honest, func(root object) { edit(t, root) })
	}
}

// annotated sets annotations on the honest document; nil removes one.
func annotated(values map[string]any) maker {
	return changed(func(t *testing.T, root object) {
		annotations := dig(t, root, "metadata", "annotations")
		for key, value := range values {
			if value == nil {
				delete(annotations, key)
				continue
			}
			annotations[key] = value
		}
	})
}

// text signs any text as the message of the draft, with a valid log entry.
func text(message func(t *testing.T, w *world) string) maker {
	return func(t *testing.T, w *world) *exception.Document { return w.sealedText(t, message(t, w)) }
}

// must returns a value for a list of cases, and panics at an error.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// swapped is replaced for lists of cases.
func swapped(text, old, with string) string {
	if !strings.Contains(text, old) {
		panic(old + " is not in the text")
	}
	return strings.Replace(text, old, with, 1)
}

package translate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/internal/lifetime"
	"github.com/polex-dev/polex/pkg/exception"
)

// Translation says what a document cannot know about the policies that have
// replaced the ones it names.
type Translation struct {
	// PolicyKinds is the kind of the new policy, such as ValidatingPolicy, for
	// every policyName of the exception, as it is written there.
	PolicyKinds map[string]string
	// WholePolicy says that the exception may exempt from the whole of each
	// policy: an exception of policies.kyverno.io knows no rules.
	WholePolicy bool
}

// Note is one thing in an exception that has no counterpart where it is to go.
type Note struct {
	Path     exception.Path
	Position exception.Position
	Message  string // untrusted text quoted
	Hint     string // what to do about it; may be empty
}

// Exception writes a kyverno.io exception as one of policies.kyverno.io/v1, which
// Kyverno 1.20 still heeds. It exempts exactly the resources that Kyverno 1.19.1
// exempts by the old one, or there is no document: then notes say what has no
// counterpart. Anything else that stands in the way is an error.
//
// Name, namespace, labels and annotations are kept; what people say moves into
// the fields made for it. Comments and the order of keys are lost, for no line
// of spec survives that they could stand by. The same document gives the same
// text. A seal does not survive a translation: translate the draft and have it
// reviewed and signed as any other.
func Exception(doc *exception.Document, how Translation) (source []byte, notes []Note, err error) {
	read := kyverno.Read(doc)
	if read == nil || !read.ByMatch {
		return nil, nil, fmt.Errorf("%s: this is %q of %q, and a %s of %s is translated", doc.Position(), doc.Text("kind"), doc.APIVersion(), exception.Kind, kyverno.MatchKind.Group)
	}
	if problems := exception.CheckSchema(doc); len(problems) > 0 {
		return nil, nil, fmt.Errorf("%s: %s: validate the exception first", doc.PositionOf(problems[0].Path), problems[0].Message)
	}
	t := &translator{how: how, doc: doc, Exception: read}
	if keys := manifest.SignatureKeys(doc); len(keys) > 0 {
		return nil, nil, fmt.Errorf("%s: the exception is sealed, and the seal is of this very text: translate the draft", doc.Position())
	}
	if _, err := lifetime.Of(doc, lifetime.Terms{}); err != nil {
		var bad *lifetime.Error
		if !errors.As(err, &bad) {
			return nil, nil, err
		}
		t.note(bad.Path, bad.Message, bad.Hint)
	}
	t.policies()
	t.withoutCounterpart()
	condition := t.match()
	if len(t.notes) > 0 {
		slices.SortStableFunc(t.notes, func(a, b Note) int {
			return cmp.Or(cmp.Compare(a.Position.Line, b.Position.Line), cmp.Compare(a.Position.Column, b.Position.Column))
		})
		return nil, t.notes, nil
	}
	source, err = t.document(condition)
	return source, nil, err
}

// maxNotes bounds what is said about one document.
const maxNotes = 200

type translator struct {
	*kyverno.Exception
	doc   *exception.Document
	how   Translation
	notes []Note

	refs      []kyverno.PolicyKey // of the new document
	namespace string              // that the policies live in, or ""
}

func (t *translator) note(path exception.Path, message, hint string) {
	if len(t.notes) < maxNotes {
		t.notes = append(t.notes, Note{Path: path, Position: t.doc.PositionOf(path), Message: message, Hint: hint})
	}
}

// withoutCounterpart notes the parts of spec that policies.kyverno.io has
// nothing for. That an exception does not count in background scans is one of
// them, unless nobody's request could be meant there: see [translator.user].
func (t *translator) withoutCounterpart() {
	if t.Preconditions != nil {
		t.note(exception.Path{"spec", "conditions"}, "conditions are JMESPath, and the new form knows CEL alone", "write them as matchConditions by hand")
	}
	if len(t.PodSecurity) > 0 {
		t.note(exception.Path{"spec", "podSecurity"}, "an exception from some controls of a Pod Security profile has no counterpart", "except from the policies that check those controls one by one")
	}
	if !t.Background && !t.asksForUsers() {
		t.note(exception.Path{"spec", "background"}, "the new form counts in background scans too, and this exception does not", "remove background if the scan may skip these resources as well")
	}
}

// translated are the kinds of policies that take the place of a ClusterPolicy's
// or a Policy's rules.
const namespacedPrefix = "Namespaced"

var translated = []string{"ValidatingPolicy", "MutatingPolicy", "GeneratingPolicy", "ImageValidatingPolicy"}

func knownPolicyKind(kind string) bool {
	kind = strings.TrimPrefix(kind, namespacedPrefix)
	for _, known := range translated {
		if kind == known {
			return true
		}
	}
	return false
}

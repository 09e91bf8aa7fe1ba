package translate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno/schema"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
)

// Translation contains facts about the new policies that the document cannot contain.
type Translation struct {
	// PolicyKinds is the kind of the new policy, such as ValidatingPolicy, for every policyName in
	// the exception.
	PolicyKinds map[string]string
	// WholePolicy permits to exempt from all rules of each policy, because exceptions of
	// policies.kyverno.io cannot name rules.
	WholePolicy bool
}

// Note is a part of an exception that the new form cannot express.
type Note struct {
	Path     exception.Path
	Position exception.Position
	Message  string // untrusted text is quoted
	Hint     string // the next step; may be empty
}

// Exception rewrites a kyverno.io exception for policies.kyverno.io/v1, which Kyverno 1.20 still
// supports. The new exception exempts exactly the resources that Kyverno 1.19.1 exempts by the old
// one. If that is not possible, source is nil and the notes name the obstacles. Other problems are
// errors.
//
// It keeps the name, namespace, labels and other annotations, and moves the statements of polex
// into fields. It loses comments and the order of keys, because it replaces the whole spec. The
// output is deterministic. A signature is not valid for the translation: translate the pending
// exception, then review and sign it.
func Exception(doc *exception.Document, how Translation) (source []byte, notes []Note, err error) {
	read := kyverno.Read(doc)
	if read == nil || !read.ByMatch {
		return nil, nil, fmt.Errorf("%s: this is %q of %q, expected a %s of %s", doc.Position(), doc.Text("kind"),
			doc.APIVersion(), exception.Kind, kyverno.MatchKind.Group)
	}
	if problems := schema.Check(doc); len(problems) > 0 {
		return nil, nil, fmt.Errorf("%s: %s: validate the exception first", doc.PositionOf(problems[0].Path),
			problems[0].Message)
	}
	t := &translator{how: how, doc: doc, Exception: read}
	if keys := manifest.SignatureKeys(doc); len(keys) > 0 {
		return nil, nil, fmt.Errorf("%s: the exception is signed, and a translation would invalidate the signature: "+
			"translate the draft", doc.Position())
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
			return cmp.Or(cmp.Compare(a.Position.Line, b.Position.Line),
				cmp.Compare(a.Position.Column, b.Position.Column))
		})
		return nil, t.notes, nil
	}
	source, err = t.document(condition)
	return source, nil, err
}

// maxNotes limits the notes for one document.
const maxNotes = 200

type translator struct {
	*kyverno.Exception
	doc   *exception.Document
	how   Translation
	notes []Note

	refs      []kyverno.PolicyKey // of the new document
	namespace string              // of the policies, or ""
}

func (t *translator) note(path exception.Path, message, hint string) {
	if len(t.notes) < maxNotes {
		t.notes = append(t.notes, Note{Path: path, Position: t.doc.PositionOf(path), Message: message, Hint: hint})
	}
}

// withoutCounterpart notes the parts of spec that policies.kyverno.io cannot express. One of them
// is background: false, unless the match requires a user: see [translator.user].
func (t *translator) withoutCounterpart() {
	if t.Preconditions != nil {
		t.note(exception.Path{"spec", "conditions"}, "conditions are in JMESPath, and the new form supports only CEL",
			"write them as matchConditions by hand")
	}
	if len(t.PodSecurity) > 0 {
		t.note(exception.Path{"spec", "podSecurity"},
			"an exception from some controls of a Pod Security profile has no counterpart",
			"write exceptions from the policies that check the single controls")
	}
	if !t.Background && !t.asksForUsers() {
		t.note(exception.Path{"spec", "background"},
			"the new form also applies to background scans, and this exception does not",
			"remove background if the scan may skip these resources as well")
	}
}

const namespacedPrefix = "Namespaced"

// translated are the kinds of policies that replace the rules of a ClusterPolicy or Policy.
var translated = []string{"ValidatingPolicy", "MutatingPolicy", "GeneratingPolicy", "ImageValidatingPolicy"}

func knownPolicyKind(kind string) bool {
	return slices.Contains(translated, strings.TrimPrefix(kind, namespacedPrefix))
}

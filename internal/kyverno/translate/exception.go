package translate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/internal/kyverno/schema"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
)

// Translation contains facts about the new policies that the document cannot contain.
type Translation struct {
	// PolicyKinds is the kind of the new policy, such as ValidatingPolicy, for every policyName in the exception.
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

// Exception rewrites a kyverno.io exception for policies.kyverno.io/v1, which Kyverno 1.20 still supports. The new
// exception exempts exactly the resources that Kyverno 1.19.1 exempts by the old one. If that is not possible, source
// is nil and the notes name the obstacles. Other problems are errors.
//
// It keeps the name, namespace, labels and other annotations, and moves the statements of polex into fields. It loses
// comments and the order of keys, because it replaces the whole spec. The output is deterministic. A signature is not
// valid for the translation: translate the pending exception, then review and sign it.
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
		t.note(bad.Path, bad.Hint, "%s", bad.Message)
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

func (t *translator) note(path exception.Path, hint, format string, args ...any) {
	if len(t.notes) < maxNotes {
		t.notes = append(t.notes, Note{path, t.doc.PositionOf(path), fmt.Sprintf(format, args...), hint})
	}
}

// withoutCounterpart notes the parts of spec that policies.kyverno.io cannot express. One of them
// is background: false, unless the match requires a user: see [translator.user].
func (t *translator) withoutCounterpart() {
	if t.Preconditions != nil {
		t.note(exception.Path{"spec", "conditions"}, "write them as matchConditions by hand",
			"conditions are in JMESPath, and the new form supports only CEL")
	}
	if len(t.PodSecurity) > 0 {
		t.note(exception.Path{"spec", "podSecurity"},
			"write exceptions from the policies that check the single controls",
			"an exception from some controls of a Pod Security profile has no counterpart")
	}
	if !t.Background && !t.asksForUsers() {
		t.note(exception.Path{"spec", "background"}, "remove background if the scan may skip these resources as well",
			"the new form also applies to background scans, and this exception does not")
	}
}

const namespacedPrefix = "Namespaced"

// translated are the kinds of policies that replace the rules of a ClusterPolicy or Policy.
var translated = []string{"ValidatingPolicy", "MutatingPolicy", "GeneratingPolicy", "ImageValidatingPolicy"}

// document writes the new exception.
func (t *translator) document(condition string) ([]byte, error) {
	metadata, _ := t.doc.Object()["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	properties := map[string]any{}
	for property, annotation := range statementsOf {
		if text, _ := annotations[annotation].(string); text != "" {
			properties[property] = text
			delete(annotations, annotation)
		}
	}
	expiresAt, _ := annotations[exception.AnnotationExpiresAt].(string)
	delete(annotations, exception.AnnotationExpiresAt)
	if len(annotations) == 0 {
		delete(metadata, "annotations")
	}

	refs := make([]any, len(t.refs))
	for i, ref := range t.refs {
		refs[i] = map[string]any{"name": ref.Name, "kind": ref.Kind}
	}
	spec := map[string]any{"policyRefs": refs,
		"matchConditions": []any{map[string]any{"name": "match", "expression": condition}}}
	if expiresAt != "" {
		spec["expiresAt"] = expiresAt
	}
	if len(properties) > 0 {
		spec["properties"] = properties
	}
	object := map[string]any{"apiVersion": kyverno.APIVersion(kyverno.ConditionKind), "kind": exception.Kind,
		"metadata": metadata, "spec": spec}

	source, err := manifest.Readable(object)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.doc.Position(), err)
	}
	doc, err := exception.Parse(source, t.doc.File())
	if err != nil {
		return nil, fmt.Errorf("read the translation: %w", err)
	}
	if problems := schema.Check(doc); len(problems) > 0 {
		return nil, fmt.Errorf("%s: in the translation, %s", t.doc.Position(), problems[0].Message)
	}
	return source, nil
}

// policies converts the policies and rules to policyRefs. These contain the name and kind of a
// policy, but no rules and no namespace. A policy in a namespace applies only to resources there.
// Therefore a condition on the namespace excludes policies of the same name elsewhere.
func (t *translator) policies() {
	if len(t.Refs) == 0 {
		t.note(t.RefsPath, "name the policy that it is an exception from", "the exception names no policy")
	}
	met := map[string]bool{}
	for i, ref := range t.Refs {
		namespace, name, namespaced := strings.Cut(ref.Name.Text, "/")
		if !namespaced {
			namespace, name = "", ref.Name.Text
		}
		if i == 0 {
			t.namespace = namespace
		}
		if namespace != t.namespace {
			t.note(ref.Name.Path, "write an exception for each namespace, and one for the policies of the cluster",
				"%q and %q are in different namespaces, and the new form cannot express that",
				t.Refs[0].Name.Text, ref.Name.Text)
		}
		t.rules(ref)
		kind, known := t.how.PolicyKinds[ref.Name.Text]
		switch {
		case !known:
			t.note(ref.Name.Path, "migrate the policy first, and give its new file with --policies",
				"an exception of policies.kyverno.io names policies of "+
					"policies.kyverno.io, and --policies has no single one named %q", ref.Name.Text)
			continue
		case !slices.Contains(translated, strings.TrimPrefix(kind, namespacedPrefix)):
			t.note(ref.Name.Path, "name one of "+strings.Join(translated, ", ")+", or its Namespaced form",
				"%q is not a kind of policy that can replace %q", kind, ref.Name.Text)
			continue
		case strings.HasPrefix(kind, namespacedPrefix) != namespaced:
			t.note(ref.Name.Path, "write a new exception for a policy that has moved",
				"%q would become a %s: only one of the two kinds has a namespace", ref.Name.Text, kind)
			continue
		}
		if !met[ref.Name.Text] {
			met[ref.Name.Text] = true
			t.refs = append(t.refs, kyverno.PolicyKey{Name: name, Kind: kind})
		}
	}
}

// rules notes that the new form cannot distinguish rules. Only a pattern that matches every name selects all rules.
func (t *translator) rules(ref kyverno.Ref) {
	path := ref.RulesPath()
	switch {
	case len(ref.Rules) == 0:
		t.note(path, "remove the policy, or name its rules",
			"no rule of %q is named, so the exception exempts from nothing there", ref.Name.Text)
	case t.how.WholePolicy || slices.ContainsFunc(ref.RuleNames(), anyText):
	default:
		t.note(path, "confirm the whole policy if these are all its rules, or if the others may be skipped too",
			"the new form exempts from the whole of %q, and this exception from the rules that "+
				"it names", ref.Name.Text)
	}
}

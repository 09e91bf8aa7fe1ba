package request

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
)

// Options are facts in addition to the violations, and the statements of the requester.
type Options struct {
	// Policies are the violated policies; nil means unknown. Some sources are not sufficient
	// without them.
	Policies *shape.PolicySet
	// Objects are the manifests of the resources and of their owners.
	Objects []*exception.Document
	// Namespace is the namespace of the exceptions; "" means the namespace of each resource.
	Namespace  string
	Statements Statements
	// Merge combines drafts that exempt the same resources into one exception with at most
	// MaxPolicies policies; 0 means no limit.
	Merge       bool
	MaxPolicies int
}

// Statements are the metadata of an exception.
type Statements struct {
	Reason, Ticket, Owner, Category string // "" leaves one out
	ExpiresIn                       string // in the format of [lifetime.ParseDuration]
}

// Draft is an exception for review.
type Draft struct {
	Document *exception.Document
	Source   []byte // the text of the file
	// Answers are the violations that the draft covers.
	Answers []Violation
	// Words describes the exemption in one sentence.
	Words string
	// Notes are sentences about facts that the draft could not consider.
	Notes []string
}

// File is the name of the file for the draft.
func (d *Draft) File() string { return d.Document.Identity().Name + ".yaml" }

// Covered lists the violations that the draft covers, for people.
func (d *Draft) Covered() []string {
	all := make([]string, len(d.Answers))
	for i, v := range d.Answers {
		all[i] = strings.TrimSpace(v.Policy+" "+v.Rule) + ": " + v.Resource.String()
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// New drafts exceptions for violations, sorted by policy and resource. It returns a problem for
// each violation without a draft. The order of the violations does not change the drafts. More than
// [MaxViolations] is an error.
func New(violations []Violation, o Options) ([]Draft, []Problem, error) {
	if len(violations) > MaxViolations {
		return nil, nil, fmt.Errorf("%d violations at once, and the maximum is %d: name a policy or a namespace",
			len(violations), MaxViolations)
	}
	if o.Namespace != "" && !labelForm.MatchString(o.Namespace) {
		return nil, nil, fmt.Errorf("%q is not the name of a namespace", o.Namespace)
	}
	r := &requester{Options: o, objects: readObjects(o.Objects), controllers: map[breach]bool{}}
	var all []*resolved
	var problems []Problem
	for _, v := range violations {
		one, p := r.resolve(v)
		if p != nil {
			problems = append(problems, *p)
			continue
		}
		if one.Resource.isWorkload() && !one.direct {
			r.controllers[one.by(one.Resource)] = true
		}
		all = append(all, one)
	}
	var exemptions []*exemption
	for _, c := range r.causes(all) {
		e, p := r.exempt(c)
		if p != nil {
			problems = append(problems, *p)
			continue
		}
		exemptions = append(exemptions, e)
	}
	if r.Merge {
		exemptions = mergeExemptions(exemptions, r.MaxPolicies)
	}
	var drafts []Draft
	drafted := map[exception.Identity]bool{}
	for _, e := range exemptions {
		draft, err := r.write(e)
		if err != nil {
			return nil, nil, err
		}
		if id := draft.Document.Identity(); !drafted[id] {
			drafted[id] = true
			drafts = append(drafts, *draft)
		}
	}
	return drafts, problems, nil
}

// requester drafts exceptions.
type requester struct {
	Options
	objects objects
	// controllers are the controllers of Pods that violate a rule.
	controllers map[breach]bool
}

// exempt returns the exemption for one cause.
func (r *requester) exempt(c *cause) (*exemption, *Problem) {
	namespace := cmp.Or(r.Namespace, c.workload.Namespace)
	if namespace == "" {
		return nil, problem(ReasonNoHome, c.of[0].Violation,
			"name the namespace of the exception with --exception-namespace",
			"%s has no namespace, and an exception requires one", c.workload)
	}
	e := &exemption{causes: []*cause{c}, namespace: namespace}
	if !c.of[0].hasRules() {
		e.spec = c.conditions()
		return e, nil
	}
	var p *Problem
	e.spec, p = c.rulesAndMatch()
	return e, p
}

// write drafts the exception for an exemption.
func (r *requester) write(e *exemption) (*Draft, error) {
	object, err := r.Statements.object(e)
	if err != nil {
		return nil, err
	}
	d, err := draftOf(object)
	if err != nil {
		return nil, fmt.Errorf("draft an exception for %s: %w", e.causes[0].workload, err)
	}
	d.Words = e.words()
	for _, c := range e.causes {
		d.Notes = append(d.Notes, c.notes...)
		for _, one := range c.of {
			d.Answers = append(d.Answers, one.Violation)
		}
	}
	slices.Sort(d.Notes)
	d.Notes = slices.Compact(d.Notes)
	return d, nil
}

// draftOf writes an exception as a document.
func draftOf(object map[string]any) (*Draft, error) {
	source, err := manifest.Readable(object)
	if err != nil {
		return nil, err
	}
	metadata, _ := object["metadata"].(map[string]any)
	doc, err := exception.Parse(source, fmt.Sprintf("%s.yaml", metadata["name"]))
	if err != nil {
		return nil, err
	}
	return &Draft{Document: doc, Source: source}, nil
}

// object returns the exception as an object.
func (s Statements) object(e *exemption) (map[string]any, error) {
	name, err := e.name() // spec contains only the exemption so far
	if err != nil {
		return nil, err
	}
	kind := e.causes[0].of[0].kind()
	object := map[string]any{"apiVersion": kyverno.APIVersion(kind), "kind": kind.Kind, "spec": e.spec,
		"metadata": map[string]any{"name": name, "namespace": e.namespace}}
	s.write(object, kind)
	return object, nil
}

// write sets the statements at their paths for the kind of exception.
func (s Statements) write(object map[string]any, kind exception.GroupKind) {
	for annotation, text := range map[string]string{
		exception.AnnotationReason: s.Reason, exception.AnnotationTicket: s.Ticket, exception.AnnotationOwner: s.Owner,
		exception.AnnotationCategory: s.Category, exception.AnnotationExpiresIn: s.ExpiresIn,
	} {
		if text == "" {
			continue
		}
		exception.Path{"metadata", "annotations", annotation}.Remove(object)
		path, _ := exception.StatementPath(kind, annotation)
		path.Set(object, text)
	}
}

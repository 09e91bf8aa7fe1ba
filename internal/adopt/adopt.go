package adopt

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"

	"github.com/polex-dev/polex/internal/kyverno/schema"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
)

// adoption is the work on one plan.
type adoption struct {
	Options
	*repository
	plan *Plan
}

// candidate is a form of an exception that may become a pending one.
type candidate struct {
	Adopted
	id      exception.Identity
	object  map[string]any
	sources []*document // of the repository
}

// Make plans the adoption of the exceptions of a repository. The plan lists exceptions that cannot
// be adopted as problems. Make returns an error for an unreadable stream or an invalid setting.
func Make(in Input, o Options) (*Plan, error) {
	objects := documents("<rendered>", in.Rendered)
	isRead := slices.ContainsFunc(objects, func(d *document) bool { return d.GroupKind().Kind != "" })
	for _, d := range objects {
		if d.err != nil && (!isRead || isDraft.Match(d.text)) { // others are no exceptions
			return nil, fmt.Errorf("%s, line %d: %s", d.file, d.line+max(d.err.Position.Line, 1)-1, d.err.Message)
		}
	}
	for _, file := range slices.Sorted(maps.Keys(in.Live)) {
		for _, doc := range in.Live[file] {
			objects = append(objects, &document{Document: doc, file: file, line: 1})
		}
	}
	a := &adoption{Options: o, plan: &Plan{Write: map[string][]byte{}}}
	a.repository = read(in.Files, len(in.Live)+len(objects) > 0, a.plan, &o)
	all, err := a.judged(a.limited(a.distinct(objects, len(in.Live) > 0)))
	if err != nil {
		return nil, err
	}
	a.move(all)
	slices.SortStableFunc(a.plan.Problems,
		func(a, b Problem) int { return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line)) })
	return a.plan, nil
}

// distinct returns the exceptions with one form each: that of the objects or, if there is none, that of a
// plain file. If the objects are all of a cluster, the other exceptions are not deployed.
func (a *adoption) distinct(objects []*document, whole bool) (chosen []*candidate) {
	forms := map[exception.Identity][]*candidate{}
	var ids []exception.Identity
	add := func(c *candidate) {
		if forms[c.id] == nil {
			ids = append(ids, c.id)
		}
		for _, other := range forms[c.id] {
			if reflect.DeepEqual(other.object, c.object) {
				other.sources = append(other.sources, c.sources...)
				return
			}
		}
		forms[c.id] = append(forms[c.id], c)
	}
	for _, d := range objects {
		if id := d.Identity(); id.IsException() && id.Name != "" && d.Annotation("cosign.sigstore.dev/message") == "" {
			add(a.candidate(d))
		}
	}
	slices.SortFunc(ids, func(a, b exception.Identity) int { return cmp.Compare(a.String(), b.String()) })
	for _, id := range ids {
		forms[id][0].sources = a.of(id)
	}
	for _, s := range a.sources {
		if s.used > 0 {
			continue
		}
		c := a.candidate(s)
		if problem := a.plain(s, whole); problem != nil {
			a.plan.refuse(c, *problem)
			continue
		}
		c.sources = []*document{s}
		add(c)
	}
	for _, id := range ids {
		c := forms[id][0]
		problem := invalid(forms[id])
		switch {
		case a.known[id] != "":
			for _, s := range c.sources {
				a.plan.refuse(a.candidate(s), Problem{Reason: ReasonExists, Message: a.known[id] + " has it already",
					Hint: "remove the old document by hand"})
			}
			continue
		case problem != nil:
			a.plan.refuse(c, *problem)
			continue
		case len(c.sources) == 1:
			source := a.candidate(c.sources[0])
			c.File, c.Line = source.File, source.Line
			if differs := difference(source, c, "%s there and %s in the cluster"); differs != "" {
				c.Notes = append(c.Notes, "the deployed form differs from its text"+differs)
			}
		}
		chosen = append(chosen, c)
	}
	return chosen
}

// candidate returns the form of a document without what tools and servers added.
func (a *adoption) candidate(d *document) *candidate {
	c := &candidate{Adopted: Adopted{File: d.file, Line: d.line}, id: d.Identity(), object: d.Object()}
	if a.Namespace != "" && c.id.Namespace == "" {
		c.id.Namespace = a.Namespace
		exception.Path{"metadata", "namespace"}.Set(c.object, a.Namespace)
	}
	c.Identity = c.id.String()
	c.clean(&a.Shape)
	return c
}

// of returns the sources of a deployed exception. A missing namespace, or one with a variable, may be any.
func (a *adoption) of(deployed exception.Identity) (sources []*document) {
	for _, s := range a.named[exception.Identity{GroupKind: deployed.GroupKind, Name: deployed.Name}] {
		namespace := s.Identity().Namespace
		if namespace == "" || namespace == deployed.Namespace || isVariable.MatchString(namespace) {
			s.used++
			sources = append(sources, s)
		}
	}
	return sources
}

// difference describes the first difference of the specs of two forms, or returns "". places has a verb for each.
func difference(one, other *candidate, places string) string {
	first, _ := exception.FromObject(map[string]any{"spec": one.object["spec"]})    //nolint:errcheck // a part of
	second, _ := exception.FromObject(map[string]any{"spec": other.object["spec"]}) //nolint:errcheck // a document
	for _, d := range seal.Compare(second, first, 1) {
		return fmt.Sprintf(": %s is "+places, d.Path, d.Old(), d.New())
	}
	return ""
}

// dnsName matches the names of exceptions and namespaces that the API server allows. It leaves room
// for the group and .yaml, since file systems limit the length of a file name.
var dnsName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,228}[a-z0-9])?$`)

// invalid returns the problem of an exception that has several forms, or no valid name and namespace.
func invalid(forms []*candidate) *Problem {
	c := forms[0]
	switch {
	case c.id.Namespace == "":
		return &Problem{Reason: ReasonNoNamespace, Message: "it has no namespace",
			Hint: "give it with --exception-namespace NAME; or give its live object with --kubeconfig or --live"}
	case !dnsName.MatchString(c.id.Namespace) || !dnsName.MatchString(c.id.Name):
		return &Problem{Reason: schema.InvalidValue, Message: fmt.Sprintf("%q is not a valid name", c.Identity),
			Hint: "remove it, or rename it: at most 230 lower-case letters, digits, dashes and dots"}
	case len(forms) == 1:
		return nil
	}
	other := forms[1]
	return &Problem{Reason: ReasonSeveral, Message: fmt.Sprintf("it has %d forms, such as %s:%d and %s:%d", len(forms),
		c.File, c.Line, other.File, other.Line) + difference(c, other, "%s in the first and %s in the second"),
		Hint: "remove the other forms from the given files; a form that another cluster needs gets another name there"}
}

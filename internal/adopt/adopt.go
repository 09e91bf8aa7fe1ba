package adopt

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"reflect"
	"regexp"
	"slices"
	"time"

	"github.com/polex-dev/polex/internal/lifetime"
	"github.com/polex-dev/polex/pkg/exception"
)

// Make plans the adoption of the exceptions of a repository. The plan lists exceptions that cannot
// be adopted as problems. Make returns an error for an unreadable stream or an invalid setting.
func Make(in Input, o Options) (*Plan, error) {
	rendered, others, err := stream(in.Rendered, false)
	if err != nil {
		return nil, fmt.Errorf("read the rendered manifests: %w", err)
	}
	live, _, err := stream(in.Live, true)
	if err != nil {
		return nil, fmt.Errorf("read the live objects: %w", err)
	}
	r := read(in.Files, &o)
	plan := &Plan{Notes: r.sets, Write: map[string][]byte{}}
	var chosen []*candidate
	forms, err := r.forms()
	if err != nil {
		return nil, err
	}
	if note := r.elsewhere(); note != "" {
		plan.Notes = append(plan.Notes, note)
	}
	left := map[string][]string{} // file names, by reason
	deployers := slices.ContainsFunc(r.sources, func(s *source) bool { return !s.isException() })
	for i, s := range r.sources {
		if !s.isException() {
			continue
		}
		reached := slices.ContainsFunc(forms[i], func(f form) bool { return f.by != nil })
		switch {
		case reached:
		case r.isTest(s.file):
			left["of tests of policies"] = append(left["of tests of policies"], s.file)
			continue
		case deployers && r.sets == nil && r.isOmitted(s) && find(rendered, s.object) == nil && find(live, s.object) == nil:
			left["in no kustomization"] = append(left["in no kustomization"], s.file)
			continue
		}
		c := &candidate{sources: []int{i}, text: s.text, forms: forms[i], Adopted: &Adopted{File: s.file, Line: s.line, Identity: identity(s.object).String()}}
		switch {
		case reached || !deployers:
		case r.sets != nil:
			c.Notes = append(c.Notes, "no deployer deploys it, unless an ApplicationSet does")
		default:
			c.Notes = append(c.Notes, "no deployer of the repository deploys it")
		}
		if problem := r.choose(c, rendered, live); problem != nil {
			plan.refuse(c, problem)
			continue
		}
		if !reflect.DeepEqual(s.object["spec"], c.object["spec"]) || text(s.object, "metadata", "name") != text(c.object, "metadata", "name") {
			c.Notes = append(c.Notes, "the deployed form differs from its text")
		}
		chosen = append(chosen, c)
	}
	for _, why := range slices.Sorted(maps.Keys(left)) {
		plan.Notes = append(plan.Notes, fmt.Sprintf("left where they are: %s %s, e.g. %s", count(len(left[why]), "exception"), why, left[why][0]))
	}
	chosen = append(chosen, r.without(rendered, "<rendered>", chosen)...)
	chosen = append(chosen, r.without(live, "<live>", chosen)...)
	for _, c := range chosen {
		if note := update(c.object); note != "" {
			c.Notes = append(c.Notes, note)
		}
		if len(r.options.Shape.AllowInKyverno) == 0 && leaveKyverno(c.object) {
			c.Notes = append(c.Notes, "the namespace kyverno is no longer exempt: Kyverno's chart leaves it out of its webhooks; if yours does not, see shape.allowInKyverno")
		}
	}
	chosen = r.distinct(plan, chosen)
	chosen = r.limited(plan, chosen)
	if chosen, err = r.finish(plan, chosen); err != nil {
		return nil, err
	}
	err = r.move(plan, chosen, rendered, others)
	slices.SortStableFunc(plan.Problems, func(a, b Problem) int { return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line)) })
	return plan, err
}

func (p *Plan) refuse(c *candidate, problem *Problem) {
	problem.File, problem.Line, problem.Object = c.File, c.Line, c.Identity
	p.Problems = append(p.Problems, *problem)
}

// without returns the exceptions of a stream that are in no file of the repository.
func (r *repository) without(all []*given, file string, chosen []*candidate) (more []*candidate) {
	for _, g := range all {
		// A signed exception is already adopted.
		if !g.used && text(g.object, "metadata", "annotations", "cosign.sigstore.dev/message") == "" &&
			!slices.ContainsFunc(chosen, func(c *candidate) bool { return identity(c.object) == identity(g.object) }) {
			more = append(more, &candidate{object: inNamespace(g.object, r.options.Namespace), Adopted: &Adopted{File: file, Line: g.line, Notes: g.notes}})
		}
	}
	return more
}

// dnsName matches the names of exceptions and namespaces that the API server allows. It leaves room
// for the group and .yaml, since file systems limit the length of a file name.
var dnsName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,228}[a-z0-9])?$`)

// namesNone reports whether the exception has a list of policies and the list is empty.
func namesNone(object map[string]any) bool {
	key := "exceptions"
	if groupKind(object).Group != exception.KyvernoGroup {
		key = "policyRefs"
	}
	list, there := at(object, "spec", key).([]any)
	return there && len(list) == 0
}

// distinct refuses exceptions with an invalid name, without a policy, or with the identity of
// another one but a different content. It merges equal exceptions into one.
func (r *repository) distinct(plan *Plan, all []*candidate) (left []*candidate) {
	same := map[exception.Identity][]*candidate{}
	for _, c := range all {
		same[identity(c.object)] = append(same[identity(c.object)], c)
	}
	for _, c := range all {
		id := identity(c.object)
		c.Identity = id.String()
		first := same[id][0]
		switch {
		case id.Namespace == "":
			plan.refuse(c, &Problem{Reason: ReasonNoNamespace, Message: "it has no namespace", Hint: "give it with --exception-namespace NAME"})
		case !dnsName.MatchString(id.Namespace) || !dnsName.MatchString(id.Name):
			plan.refuse(c, &Problem{Reason: exception.ProblemInvalidValue, Message: fmt.Sprintf("%q in namespace %q is not a name that an exception can have", id.Name, id.Namespace),
				Hint: "remove it, or rename it: at most 230 lower-case letters, digits, dashes and dots"})
		case namesNone(c.object):
			plan.refuse(c, &Problem{Reason: ReasonNoPolicies, Message: "it names no policy, and exempts nothing", Hint: "remove it"})
		case slices.ContainsFunc(same[id], func(other *candidate) bool { return key(other.object) != key(c.object) }):
			plan.refuse(c, &Problem{Reason: ReasonSeveral, Message: "other documents of the repository define the same object with different content", Hint: "keep one of them"})
		case c != first:
			first.sources, first.forms = append(first.sources, c.sources...), append(first.forms, c.forms...)
			first.Notes = append(first.Notes, fmt.Sprintf("%s:%d is the same", c.File, c.Line))
		default:
			left = append(left, c)
		}
	}
	return left
}

// limited gives each exception its expiry and refuses expired ones.
func (r *repository) limited(plan *Plan, all []*candidate) (left []*candidate) {
	var open []*candidate
	for _, c := range all {
		end, note, err := expiry(c.object, r.options.Shape.Terms, r.options.Now)
		var bad *lifetime.Error
		switch {
		case errors.As(err, &bad):
			plan.refuse(c, &Problem{Reason: ReasonLifetime, Message: bad.Error(), Hint: bad.Hint})
			continue
		case err != nil:
			plan.refuse(c, &Problem{Reason: ReasonUnreadable, Message: err.Error()})
			continue
		case end.IsZero():
			c.Notes = append(c.Notes, unlisted(c.object, r.options.Configured)...)
			open = append(open, c)
		case !end.After(r.options.Now):
			plan.refuse(c, &Problem{Reason: ReasonExpired, Message: "it expired at " + end.UTC().Format(time.RFC3339), Hint: "remove it, or request it again: polex request"})
			continue
		}
		c.ExpiresAt, c.Stated = end, !end.IsZero()
		if note != "" {
			c.Notes = append(c.Notes, note)
		}
		left = append(left, c)
	}
	first, last := r.options.First, r.options.Last
	if most := r.options.Shape.MaxLifetime; r.options.Configured && most > 0 && last > most && len(open) > 0 {
		plan.Notes = append(plan.Notes, fmt.Sprintf("the last expiry is %s from now and not %s: shape.maxLifetime in the configuration allows no more", days(most), days(last)))
		first, last = min(first, most), most
	}
	for n, end := range spread(len(open), r.options.Now, first, last) {
		path, _ := exception.StatementPath(groupKind(open[n].object), exception.AnnotationExpiresAt)
		set(open[n].object, end.Format(time.RFC3339), keys(path)...)
		open[n].ExpiresAt = end
	}
	return left
}

// finish writes the documents and refuses those that must not be signed. The file name contains the
// API group if both groups have an exception of that name. It also does if the file would otherwise
// have the name of a kustomization.
func (r *repository) finish(plan *Plan, all []*candidate) (adopted []*candidate, err error) {
	documents := map[string]*exception.Document{}
	for _, c := range all {
		if r.substitute {
			set(c.object, "disabled", "metadata", "annotations", substituteKey)
		}
		id := identity(c.object)
		c.To = path.Join(r.options.Unsigned, id.Namespace, id.Name+".yaml")
		if documents[c.To] != nil || r.isKustomization(c.To) {
			c.To = path.Join(r.options.Unsigned, id.Namespace, id.Name+"."+id.Group+".yaml")
		}
		content, err := write(c.text, c.object)
		var doc *exception.Document
		if err == nil {
			doc, err = exception.Parse(content, c.To)
		}
		known := r.known[id]
		if signed := path.Join(r.options.Signed, c.To[len(r.options.Unsigned):]); known == "" && r.files[signed] != nil {
			known = signed
		}
		switch before, there := r.files[c.To]; {
		case err != nil:
			plan.refuse(c, &Problem{Reason: ReasonUnreadable, Message: err.Error()})
		case there && !bytes.Equal(before, content):
			plan.refuse(c, &Problem{Reason: ReasonExists, Message: c.To + " exists with different content", Hint: "remove one of the two"})
		case known != "" && known != c.To:
			plan.refuse(c, &Problem{Reason: ReasonExists, Message: known + " exists already", Hint: "remove the old document"})
		default:
			plan.Write[c.To] = content
			documents[c.To] = doc
			adopted = append(adopted, c)
		}
	}
	if adopted, err = r.judge(plan, adopted, documents); err != nil {
		return nil, err
	}
	r.spreads(adopted)
	for _, c := range adopted {
		plan.Adopted = append(plan.Adopted, *c.Adopted)
	}
	return adopted, nil
}

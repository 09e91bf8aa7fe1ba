package adopt

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"reflect"
	"regexp"
	"slices"
	"time"

	"github.com/polex-dev/polex/internal/kyverno/schema"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
)

// candidate is an exception that may become a pending one.
type candidate struct {
	*Adopted
	object  map[string]any
	sources []*source // the files that have it
	chart   string    // the Helm template that renders it
	differs string    // how the deployed form differs from its text, if it does
}

// Make plans the adoption of the exceptions of a repository. The plan lists exceptions that cannot
// be adopted as problems. Make returns an error for an unreadable stream or an invalid setting.
func Make(in Input, o Options) (*Plan, error) {
	streams, err := readStreams(in.Streams, &o)
	if err != nil {
		return nil, err
	}
	r := read(in.Files, &o)
	plan := &Plan{Problems: r.problems, Write: map[string][]byte{}}
	chosen := slices.Concat(r.fromStreams(plan, streams), r.fromFiles(plan, in.Streams))
	for _, c := range chosen {
		if note := update(c.object); note != "" {
			c.Notes = append(c.Notes, note)
		}
		if len(o.Shape.AllowInKyverno) == 0 && leaveKyverno(c.object) {
			c.Notes = append(c.Notes, "the namespace kyverno is no longer exempt: Kyverno's chart leaves it out of "+
				"its webhooks; if yours does not, see guard.allowInKyverno")
		}
	}
	chosen = r.distinct(plan, chosen)
	chosen = r.limited(plan, chosen)
	if chosen, err = r.finish(plan, chosen); err != nil {
		return nil, err
	}
	r.move(plan, chosen)
	slices.SortStableFunc(plan.Problems,
		func(a, b Problem) int { return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line)) })
	return plan, nil
}

// fromStreams returns the exceptions that are deployed. The template that renders one is no problem
// any more.
func (r *repository) fromStreams(plan *Plan, streams map[exception.Identity][]*deployed) (chosen []*candidate) {
	ids := slices.SortedFunc(maps.Keys(streams),
		func(a, b exception.Identity) int { return cmp.Compare(a.String(), b.String()) })
	for _, id := range ids {
		forms := streams[id]
		c := &candidate{object: forms[0].object, sources: r.of(id),
			Adopted: &Adopted{File: forms[0].stream, Line: forms[0].line, Notes: forms[0].notes}}
		for _, s := range c.sources {
			s.used++
		}
		if r.known[id] != "" { // it is adopted already
			for _, s := range c.sources {
				plan.refuse(&candidate{object: c.object, Adopted: &Adopted{File: s.file, Line: s.line}},
					exists(r.known[id]))
			}
			continue
		}
		if len(c.sources) == 1 {
			s := c.sources[0]
			c.File, c.Line = s.file, s.line
			if !reflect.DeepEqual(s.object["spec"], c.object["spec"]) {
				c.differs = "the deployed form differs from its text" +
					difference(s.object, c.object, "%s there and %s in the cluster")
				c.Notes = append(c.Notes, c.differs)
			}
		}
		for _, p := range r.problems {
			if p.Reason == ReasonTemplate && forms[0].chart != "" && r.chart(p.File) == forms[0].chart {
				c.chart = p.File
				plan.Problems = slices.DeleteFunc(plan.Problems, func(other Problem) bool {
					return other.File == p.File &&
						other.Reason == ReasonTemplate
				})
			}
		}
		if problem := several(forms); problem != nil {
			plan.refuse(c, problem)
			continue
		}
		chosen = append(chosen, c)
	}
	return chosen
}

// fromFiles returns the exceptions of plain files that no stream has. If a stream has a whole
// cluster, they are not deployed.
func (r *repository) fromFiles(plan *Plan, streams []Stream) (chosen []*candidate) {
	whole := slices.ContainsFunc(streams, func(s Stream) bool { return s.Whole })
	for _, s := range r.sources {
		if s.used > 0 {
			continue
		}
		c := &candidate{object: s.object, sources: []*source{s}, Adopted: &Adopted{File: s.file, Line: s.line}}
		problem := r.plain(s)
		if whole && (problem == nil || problem.Reason != ReasonNotDeployed) {
			problem = &Problem{Reason: ReasonNotDeployed,
				Message: "the cluster has no exception of this name, and it stays where it is",
				Hint:    "remove it; or if another cluster has it, give the objects of that one too"}
		}
		if problem != nil {
			plan.refuse(c, problem)
			continue
		}
		c.Notes = clean(c.object, r.options.Shape.Allowed)
		inNamespace(c.object, r.options.Namespace)
		if known := r.known[identity(c.object)]; known != "" {
			plan.refuse(c, exists(known))
			continue
		}
		chosen = append(chosen, c)
	}
	return chosen
}

// exists is the problem of an exception that another file has.
func exists(name string) *Problem {
	return &Problem{Reason: ReasonExists, Message: name + " has it already", Hint: "remove the old document by hand"}
}

func (p *Plan) refuse(c *candidate, problem *Problem) {
	problem.File, problem.Line, problem.Object = c.File, c.Line, identity(c.object).String()
	if c.differs != "" { // otherwise somebody would look for the problem in the text
		problem.Message += "; " + c.differs
	}
	p.Problems = append(p.Problems, *problem)
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
			plan.refuse(c, &Problem{Reason: ReasonNoNamespace, Message: "it has no namespace",
				Hint: "give it with --exception-namespace NAME"})
		case !dnsName.MatchString(id.Namespace) || !dnsName.MatchString(id.Name):
			plan.refuse(c, &Problem{Reason: schema.InvalidValue,
				Message: fmt.Sprintf("%q in namespace %q is not a name that an exception can have", id.Name,
					id.Namespace),
				Hint: "remove it, or rename it: at most 230 lower-case letters, digits, dashes and dots"})
		case namesNone(c.object):
			plan.refuse(c, &Problem{Reason: ReasonNoPolicies, Message: "it names no policy, and exempts nothing",
				Hint: "remove it"})
		case slices.ContainsFunc(same[id], func(other *candidate) bool { return key(other.object) != key(c.object) }):
			plan.refuse(c, &Problem{Reason: ReasonSeveral,
				Message: "other documents of the repository define the same object with different content",
				Hint:    "keep one of them"})
		case c != first:
			first.sources = append(first.sources, c.sources...)
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
		end, note, err := expiry(c.object, r.options.Shape.Rules.Terms, r.options.Now)
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
			plan.refuse(c, &Problem{Reason: ReasonExpired, Message: "it expired at " + end.UTC().Format(time.RFC3339),
				Hint: "remove it, or request it again: polex request"})
			continue
		}
		c.ExpiresAt, c.Stated = end, !end.IsZero()
		if note != "" {
			c.Notes = append(c.Notes, note)
		}
		left = append(left, c)
	}
	first, last := r.options.First, r.options.Last
	if most := r.options.Shape.Rules.Longest; r.options.Configured && most > 0 && last > most && len(open) > 0 {
		plan.Notes = append(plan.Notes,
			fmt.Sprintf("the last expiry is %s from now and not %s: trust.maxLifetime in the configuration allows no "+
				"more",
				days(most), days(last)))
		first, last = min(first, most), most
	}
	for n, end := range spread(len(open), r.options.Now, first, last) {
		path, _ := exception.StatementPath(groupKind(open[n].object), exception.AnnotationExpiresAt)
		path.Set(open[n].object, end.Format(time.RFC3339))
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
		id := identity(c.object)
		c.To = path.Join(r.options.Unsigned, id.Namespace, id.Name+".yaml")
		if documents[c.To] != nil || isKustomization(c.To) {
			c.To = path.Join(r.options.Unsigned, id.Namespace, id.Name+"."+id.Group+".yaml")
		}
		var like []byte
		if len(c.sources) > 0 {
			like = c.sources[0].text
		}
		content, err := write(like, c.object)
		var doc *exception.Document
		if err == nil {
			doc, err = exception.Parse(content, c.To)
		}
		signed := path.Join(r.options.Signed, c.To[len(r.options.Unsigned):])
		_, there := r.files[c.To]
		switch {
		case err != nil:
			plan.refuse(c, &Problem{Reason: ReasonUnreadable, Message: err.Error()})
		case there:
			plan.refuse(c, &Problem{Reason: ReasonExists, Message: c.To + " exists with another content",
				Hint: "remove one of the two"})
		case r.files[signed] != nil:
			plan.refuse(c, &Problem{Reason: ReasonExists, Message: signed + " exists with another content",
				Hint: "remove one of the two"})
		default:
			plan.Write[c.To] = content
			documents[c.To] = doc
			adopted = append(adopted, c)
		}
	}
	if adopted, err = r.judge(plan, adopted, documents); err != nil {
		return nil, err
	}
	for _, c := range adopted {
		plan.Adopted = append(plan.Adopted, *c.Adopted)
	}
	return adopted, nil
}

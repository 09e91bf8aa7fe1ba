package promote

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/gitchange"
	"github.com/polex-dev/polex/pkg/gittree"
)

// Plan is what becomes of a queue on one commit, which is its source or one that
// came later.
type Plan struct {
	Moves   []*Move
	Skipped []Skip

	queue *Queue
	there *listing
	on    plumbing.Hash
}

// Move is one file of a plan.
type Move struct {
	From, To  string
	Documents []*exception.Document // as they were asked for, or sealed
	// Predecessors are what the documents renew or take the place of, one for each: as it
	// lies in the signed folder, and not verified. It is nil for a first exception.
	Predecessors []*exception.Document
	// Origin is the commit that brought the file; nil where history does not go
	// back far enough to tell.
	Origin   *gitchange.Origin
	Replaces []Replaced
}

// Replaced is a signed file that goes when another takes its place. All the
// exceptions in it are signed anew.
type Replaced struct {
	Path      string
	Documents []*exception.Document
	blob      plumbing.Hash
}

// Skip is a file of the queue that is not promoted by this run, and rightly so.
type Skip struct {
	File, Reason, Message string
}

// The reasons for which a file is left to another run, or was seen to by one.
const (
	ReasonChangedSince = "changed-since"
	ReasonGoneSince    = "gone-since"
)

// ErrNotContained says that the commit which is to be built upon does not have
// the one that the queue was read from.
var ErrNotContained = errors.New("it does not contain the commit that the queue was read from")

// Plan says what becomes of the queue on a commit. It returns
// [exception.Refusals] when something of it cannot be promoted there.
func (q *Queue) Plan(on plumbing.Hash) (*Plan, error) {
	tree, err := q.clone.Tree(on)
	if err != nil {
		return nil, err
	}
	return q.plan(tree)
}

func (q *Queue) plan(tree *gittree.Tree) (*Plan, error) {
	on := plumbing.NewHash(tree.Commit())
	switch contained, err := q.clone.Contains(on, q.source); {
	case err != nil:
		return nil, err
	case !contained:
		return nil, fmt.Errorf("commit %s: %w, %s", on, ErrNotContained, q.source)
	}
	there, err := q.list(tree)
	if err != nil {
		return nil, err
	}
	p := &Plan{queue: q, there: there, on: on}
	if err := p.choose(); err != nil {
		return nil, err
	}
	var refusals exception.Refusals
	asked := map[exception.Identity]bool{}
	for _, m := range p.Moves {
		for _, doc := range m.Documents {
			asked[doc.Identity()] = true
		}
	}
	targets := folded{}
	for _, m := range p.Moves {
		problems, err := q.check(m, there, asked)
		if err != nil {
			return nil, err
		}
		predecessors, renewals, err := there.renewals(m.Documents)
		if err != nil {
			return nil, err
		}
		m.succeed(predecessors)
		refusals = append(append(append(refusals, problems...), renewals...), targets.add(m)...)
	}
	if len(refusals) > 0 {
		return nil, refusals
	}
	return p, nil
}

// succeed notes what each document takes up after: what it says that it renews, or the
// signed exception of its own name, which would otherwise get another life without being
// a renewal.
func (m *Move) succeed(renewed []*exception.Document) {
	m.Predecessors = renewed
	signed := map[exception.Identity]*exception.Document{}
	for _, r := range m.Replaces {
		for _, doc := range r.Documents {
			signed[doc.Identity()] = doc
		}
	}
	for i, doc := range m.Documents {
		if m.Predecessors[i] == nil {
			m.Predecessors[i] = signed[doc.Identity()]
		}
	}
}

// choose takes the files that are still there as they were in the source, and that no
// later commit asked for. What changed since was approved anew, by other rules maybe, and
// is for the run of that commit.
func (p *Plan) choose() error {
	again, err := p.queue.askedAgain(p.there, p.on)
	if err != nil {
		return err
	}
	for _, f := range p.queue.files {
		switch blob := p.there.waiting(f.from); {
		case blob.IsZero():
			p.Skipped = append(p.Skipped, Skip{File: f.from, Reason: ReasonGoneSince, Message: "it was signed or withdrawn since"})
		case blob != f.blob || again[f.from]:
			p.Skipped = append(p.Skipped, Skip{File: f.from, Reason: ReasonChangedSince, Message: "it was changed since, and is left to the run of that commit"})
		default:
			p.Moves = append(p.Moves, &Move{From: f.from, To: f.to, Documents: f.documents, Origin: f.origin})
		}
	}
	return nil
}

// check holds a move against what is signed already.
func (q *Queue) check(m *Move, there *listing, asked map[exception.Identity]bool) (exception.Refusals, error) {
	replaced := map[string]bool{}
	if same, problem := there.inTheWay(m.To); problem != "" {
		return exception.Refusals{{Position: exception.Position{File: m.From}, Reason: ReasonTargetExists, Message: problem,
			Hint: "choose another name"}}, nil
	} else if same {
		replaced[m.To] = true
	}
	var refusals exception.Refusals
	for _, doc := range m.Documents {
		for _, where := range there.objects[doc.Identity()] {
			if !q.options.Replace && !replaced[where] {
				refusals = append(refusals, &exception.Refusal{Position: doc.Position(), Reason: ReasonAlreadySigned,
					Message: fmt.Sprintf("%s is signed already, in %s", doc.Identity(), where), Hint: hintReplace})
			}
			replaced[where] = true
		}
	}
	if replaced[m.To] && (!q.options.Replace || !slices.ContainsFunc(there.within[m.To], func(id exception.Identity) bool { return asked[id] })) {
		return exception.Refusals{{Position: exception.Position{File: m.From}, Reason: ReasonTargetExists, Message: fmt.Sprintf("%s exists already", m.To),
			Hint: hintReplace}}, nil
	}
	for name := range replaced {
		for _, id := range there.within[name] {
			if !asked[id] && len(refusals) == 0 {
				refusals = append(refusals, &exception.Refusal{Position: m.Documents[0].Position(), Reason: ReasonPartlyReplaced,
					Message: fmt.Sprintf("%s holds %s as well, which nothing replaces", name, id), Hint: "ask for all the exceptions of that file again, or remove it in a pull request"})
			}
		}
	}
	if len(refusals) > 0 {
		return refusals, nil
	}
	for name := range replaced {
		docs, err := documentsIn(there.tree, there.signed[name])
		if err != nil {
			return nil, err
		}
		m.Replaces = append(m.Replaces, Replaced{Path: name, Documents: docs, blob: there.signed[name].Hash()})
	}
	slices.SortFunc(m.Replaces, func(a, b Replaced) int { return strings.Compare(a.Path, b.Path) })
	return nil, nil
}

const hintReplace = "an approved exception is not replaced without a word: remove the signed one in the same pull request, choose another name, or set promote.updates: replace"

// inTheWay reports whether a file of this very name is signed, or says what else
// is in its way: a folder of its name, a file in place of its folder, or a name
// that is the same on a file system which knows no case.
func (l *listing) inTheWay(to string) (same bool, problem string) {
	if other, met := l.folded[strings.ToLower(to)]; met && other != to {
		return false, fmt.Sprintf("%s exists already, which some systems take for the same as %s", other, to)
	}
	for dir := path.Dir(to); dir != "."; dir = path.Dir(dir) {
		if other, met := l.folded[strings.ToLower(dir)]; met && other != dir {
			return false, fmt.Sprintf("%s exists already, which some systems take for the same as %s", other, dir)
		}
		if _, file := l.signed[dir]; file {
			return false, fmt.Sprintf("%s exists already, and is no folder", dir)
		}
	}
	if _, file := l.signed[to]; file {
		return true, ""
	}
	if _, met := l.folded[strings.ToLower(to)]; met {
		return false, fmt.Sprintf("%s exists already, and is a folder", to)
	}
	return false, ""
}

// folded are the targets of a plan, and the folders that they are in, by their
// names without case.
type folded map[string]string

func (f folded) add(m *Move) exception.Refusals {
	for name := m.To; name != "."; name = path.Dir(name) {
		key := strings.ToLower(name)
		if other, met := f[key]; met && other != name {
			return exception.Refusals{{Position: exception.Position{File: m.From}, Reason: ReasonTargetExists,
				Message: fmt.Sprintf("%s would lie beside %s, which some systems take for the same", name, other), Hint: "choose another name"}}
		}
		f[key] = name
	}
	return nil
}

// Live calls visit with what lies in the signed folder of the commit that the plan is
// for, and stays there, in the order of the files. Nobody has verified any of it.
func (p *Plan) Live(visit func(*exception.Document)) error {
	replaced := map[string]bool{}
	for _, m := range p.Moves {
		for _, r := range m.Replaces {
			replaced[r.Path] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.there.within)) {
		if replaced[name] {
			continue
		}
		docs, err := documentsIn(p.there.tree, p.there.signed[name])
		if err != nil {
			return err
		}
		for _, doc := range docs {
			visit(doc)
		}
	}
	return nil
}

// Documents returns all documents that are to be sealed, in the order of the
// moves.
func (p *Plan) Documents() []*exception.Document {
	var docs []*exception.Document
	for _, m := range p.Moves {
		docs = append(docs, m.Documents...)
	}
	return docs
}

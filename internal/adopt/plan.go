package adopt

import (
	"slices"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
)

// Reasons of a [Problem], in addition to those of [shape.Reasons].
const (
	ReasonTemplate    = "template"
	ReasonUnreadable  = "unreadable"
	ReasonNotRendered = "not-rendered"
	ReasonNotDeployed = "not-deployed"
	ReasonNoNamespace = "no-namespace"
	ReasonSeveral     = "several-forms"
	ReasonExists      = "exists"
	ReasonExpired     = shape.ReasonExpired
	ReasonLifetime    = shape.ReasonBadLifetime
)

// Options configure the adoption.
type Options struct {
	Unsigned, Signed string        // paths from the root of the repository
	Namespace        string        // of exceptions that state none
	First, Last      time.Duration // the window for the expiry of exceptions without one
	Now              time.Time
	Origin, Branch   string // the address of the remote and the default branch, or empty
	Shape            shape.Config
	// Configured means that the repository has a configuration. The plan then writes none and does
	// not change Shape.
	Configured bool
}

// Input is the input of [Make].
type Input struct {
	Files    map[string][]byte // YAML, JSON and .sourceignore files of the repository, by path
	Rendered []byte            // a stream of documents that the team's own tools made
	// Live are all exceptions of clusters, by the file of the objects. A file of the repository with another
	// one is not deployed.
	Live map[string][]*exception.Document
}

// Plan is the result of [Make]: the changes, and the problems.
type Plan struct {
	Adopted  []Adopted
	Problems []Problem
	Edits    []string // one sentence each
	Notes    []string // tasks for people
	Write    map[string][]byte
	Remove   []string
}

// Adopted is an exception that becomes a pending one.
type Adopted struct {
	File      string // the source: a file of the repository, or the name of a stream
	Line      int
	To        string
	Identity  string
	ExpiresAt time.Time
	Stated    bool     // the expiry was stated before the adoption
	Notes     []string // the rewritten parts, with reasons
}

// Problem describes an exception that is not adopted.
type Problem struct {
	File                          string
	Line                          int
	Reason, Message, Hint, Object string
}

// refuse adds the problem of an exception.
func (p *Plan) refuse(c *candidate, problem Problem) {
	problem.File, problem.Line, problem.Object = c.File, c.Line, c.Identity
	p.Problems = append(p.Problems, problem)
}

// note adds a task for people.
func (p *Plan) note(file, task string) {
	if note := file + ": " + task; !slices.Contains(p.Notes, note) {
		p.Notes = append(p.Notes, note)
	}
}

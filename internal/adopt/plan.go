package adopt

import (
	"time"

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
	ReasonNoPolicies  = "no-policies"
	ReasonExpired     = shape.ReasonExpired
	ReasonLifetime    = shape.ReasonBadLifetime
)

// Options configure the adoption.
type Options struct {
	Unsigned, Signed string // paths from the root of the repository
	// Namespace applies to exceptions that state none.
	Namespace string
	// First and Last are the window for the expiry of exceptions without one.
	First, Last time.Duration
	Now         time.Time
	// Origin is the address of the remote, and Branch the default branch; both may be empty.
	Origin, Branch string
	Shape          shape.Config
	// Configured means that the repository has a configuration. The plan then writes none and does
	// not change Shape.
	Configured bool
}

// Input is the input of [Make].
type Input struct {
	Files   map[string][]byte // YAML and JSON files of the repository, by path
	Streams []Stream
}

// Stream is a stream of YAML or JSON documents with deployed objects.
type Stream struct {
	Name    string // for messages: <rendered>, or the file of the live objects
	Content []byte
	// Whole means that the stream has all exceptions of a cluster: a file with another one is not
	// deployed there.
	Whole bool
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

// Warning reports whether the exception rightly stays as it is: no cluster has it.
func (p Problem) Warning() bool { return p.Reason == ReasonNotDeployed }

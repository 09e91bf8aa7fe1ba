package adopt

import (
	"time"

	"github.com/polex-dev/polex/pkg/shape"
)

// Reasons of a [Problem], besides those of [shape.Reasons].
const (
	ReasonTemplate    = "template"
	ReasonUnreadable  = "unreadable"
	ReasonNotRendered = "not-rendered"
	ReasonVariable    = "unknown-variable"
	ReasonNoNamespace = "no-namespace"
	ReasonSeveral     = "several-forms"
	ReasonExists      = "exists"
	ReasonNoPolicies  = "no-policies"
	ReasonExpired     = shape.ReasonExpired
	ReasonLifetime    = shape.ReasonBadLifetime
)

// Options say how exceptions are adopted.
type Options struct {
	Unsigned, Signed string // folders, from the root of the repository
	// Namespace is that of exceptions for which nothing says one. Of several deployed forms
	// it selects those in this namespace.
	Namespace string
	// Substitute are values of Flux variables, before those of the repository.
	Substitute map[string]string
	// First and Last are the window for the expiry of exceptions that state none.
	First, Last time.Duration
	Now         time.Time
	// Origin is the address of the repository, and Branch its branch; they may be empty.
	Origin, Branch string
	Shape          shape.Config
	// Configured says that the repository has a configuration. Then none is written, and
	// Shape is not changed.
	Configured bool
}

// Input is what is read.
type Input struct {
	Files    map[string][]byte // YAML and JSON of the repository, by path
	Rendered []byte            // a stream of manifests that were rendered elsewhere
	Live     []byte            // objects of a cluster
}

// Plan is what adopting changes.
type Plan struct {
	Adopted  []Adopted // in the order of their sources
	Problems []Problem
	Edits    []string // each in a sentence
	Notes    []string // what is left for people
	Write    map[string][]byte
	Remove   []string
}

// Adopted is an exception that becomes a pending one.
type Adopted struct {
	File      string // where it is from
	Line      int    // of the stream, where File is <rendered> or <live>
	To        string
	Identity  string
	ExpiresAt time.Time
	Stated    bool     // the expiry was stated before
	Notes     []string // what was rewritten, and why
}

// Problem is why something is not adopted.
type Problem struct {
	File                          string
	Line                          int
	Reason, Message, Hint, Object string
}

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
	ReasonVariable    = "unknown-variable"
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
	// Namespace applies to exceptions without a known namespace. If an exception has several
	// deployed forms, it selects the forms in this namespace.
	Namespace string
	// Substitute are values of Flux variables. They override those of the repository.
	Substitute map[string]string
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
	Files    map[string][]byte // YAML and JSON files of the repository, by path
	Rendered []byte            // a stream of manifests that another tool rendered
	Live     []byte            // objects of a cluster
}

// Plan is the result of [Make]: the changes, and the problems.
type Plan struct {
	Adopted  []Adopted // in the order of their sources
	Problems []Problem
	Edits    []string // one sentence each
	Notes    []string // tasks for people
	Write    map[string][]byte
	Remove   []string
}

// Adopted is an exception that becomes a pending one.
type Adopted struct {
	File      string // the source
	Line      int    // in the stream, if File is <rendered> or <live>
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

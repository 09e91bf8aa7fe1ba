package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"golang.org/x/sync/errgroup"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/verify"
)

// Options say what a ledger is made of.
type Options struct {
	// Signed and Unsigned are the folders, from the tree's root. Both are needed,
	// and neither lies in the other.
	Signed, Unsigned string
	Verifier         *verify.Verifier
	// Statements are the team's own keys for the reason, the ticket and the owner.
	Statements exception.StatementKeys
	// Now is the time; commits of later times have none.
	Now time.Time
	// At is the time of the ledger: it is made as it would have been then, by the
	// trust policy of today. Zero means Now, with every commit.
	At time.Time
	// Seen is a commit that an earlier ledger of the branch ended at. If the history
	// does not lead to it any more, it was rewritten. Zero asks for nothing.
	Seen plumbing.Hash
	// Steps are remembered ones; nil remembers none. New ones are added.
	Steps *Steps
	// Renewed is how many renewals in a row make a finding of an exception that lies
	// under signed/; 0 asks for none.
	Renewed int
	// Workers is how many documents are verified at once; 0 means one for each
	// processor.
	Workers int
	// Progress is told how far it is, now and then; nil tells nobody. total is 0 where
	// it is not known.
	Progress func(doing string, done, total int)
}

// Ledger is what was found. Entries are in the order of identity and version,
// requests that were not signed behind the others.
type Ledger struct {
	// Tip and Root are the last and the first commit of the line.
	Tip, Root string
	Commits   int // of the line
	Merged    int // commits beside it
	At        time.Time
	// Shallow says that the history is cut off before Root: what was before it is not
	// known.
	Shallow  bool
	Entries  []*Entry
	Findings []Finding
	// Chains are the exceptions that were renewed, those of the most renewals first.
	Chains []*Chain
	// Compared says that a cluster was compared, and how many objects it holds.
	Compared bool
	Objects  int
}

// ErrFolders says that the folders of the options cannot be meant.
var ErrFolders = errors.New("signed and unsigned have to be two folders inside of the repository, and neither in the other")

// Read makes the ledger of the history that leads to a commit. Entries without a
// document are none: a history without one is a ledger without entries.
func Read(repository *git.Repository, tip plumbing.Hash, o Options) (*Ledger, error) {
	if o.Verifier == nil {
		return nil, errors.New("ledger: no verifier")
	}
	o.Signed, o.Unsigned = path.Clean(o.Signed), path.Clean(o.Unsigned)
	if !apart(o.Signed, o.Unsigned) {
		return nil, fmt.Errorf("%q and %q: %w", o.Signed, o.Unsigned, ErrFolders)
	}
	if o.Progress == nil {
		o.Progress = func(string, int, int) {}
	}
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	at := o.At
	if at.IsZero() {
		at = o.Now
	}
	r := &reading{Options: o, repository: repository, at: at, ledger: &Ledger{At: at}, known: map[plumbing.Hash]*git.Commit{}}
	if err := r.gather(tip); err != nil {
		return nil, err
	}
	r.fold()
	r.renewals()
	r.settle()
	return r.ledger, nil
}

// apart reports whether two folders can be what is signed and what is not.
func apart(a, b string) bool {
	return a != "." && b != "." && fs.ValidPath(a) && fs.ValidPath(b) &&
		!inside(a, b) && !inside(b, a)
}

// reading is a ledger in the making.
type reading struct {
	Options
	repository *git.Repository
	at         time.Time
	ledger     *Ledger

	line   []*step // from the oldest on
	beside []*step // commits that were merged into the line
	known  map[plumbing.Hash]*git.Commit
	blobs  map[source]*blob
	// workers look at the contents.
	workers errgroup.Group
	// counted is how many documents there are, or more.
	counted int
}

package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/verify"
)

// Options are the inputs of a report.
type Options struct {
	// Signed and Unsigned are the folders, relative to the root of the tree. Both are required, and
	// neither may contain the other.
	Signed, Unsigned string
	Verifier         *verify.Verifier
	// Statements are the team's own keys for the reason, the ticket and the owner.
	Statements exception.StatementKeys
	// Now is the current time. Commit times after it are ignored.
	Now time.Time
	// At is the time of the report: it shows the state at that time, with the current trust policy.
	// Zero means Now, with every commit.
	At time.Time
	// Seen is the last commit of an earlier report of the branch. If the history does not contain
	// it any more, the history was rewritten. Zero skips this check.
	Seen git.Hash
	// Renewed is the number of renewals in a row from which an exception under signed/ is a
	// finding. 0 disables the finding.
	Renewed int
	// Progress receives the progress from time to time; it may be nil. total is 0 if it is not
	// known.
	Progress func(doing string, done, total int)
}

// Ledger is the report. Entries are sorted by identity and version, with unsigned requests last.
type Ledger struct {
	// Tip and Root are the newest and the oldest commit of the line.
	Tip, Root string
	Commits   int // commits of the line
	Merged    int // commits that were merged into the line
	At        time.Time
	// Shallow reports whether the clone lacks the commits before Root.
	Shallow  bool
	Entries  []*Entry
	Findings []Finding
	// Chains are the chains of renewals, those with the most renewals first.
	Chains []*Chain
	// Compared reports whether a cluster was compared. Objects is the number of its exceptions.
	// UsageKnown reports whether its reports were read too.
	Compared, UsageKnown bool
	Objects              int

	live []*live
}

// ErrFolders means that the folders of the options are invalid.
var ErrFolders = errors.New("signed and unsigned have to be two folders inside of the repository, " +
	"and neither in the other")

// Read makes the report of the history up to the commit tip. A history without exceptions gives a
// report without entries.
func Read(repository *git.Repository, tip git.Hash, o Options) (*Ledger, error) {
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
	at := cmp.Or(o.At, o.Now)
	r := &reading{Options: o, repository: repository, at: at, ledger: &Ledger{At: at},
		known: map[git.Hash]*git.Commit{}, cuts: map[git.Hash]bool{}, blobs: map[content]*blob{}}
	r.workers.SetLimit(runtime.GOMAXPROCS(0))
	err := r.history(tip) // the workers verify documents meanwhile
	_ = r.workers.Wait()  // none of them fails
	if err != nil {
		return nil, err
	}
	r.fold()
	r.renewals()
	r.check()
	return r.ledger, nil
}

// Repository names the repository: by the certificate of the newest trusted signature, or else by
// its folder.
func (l *Ledger) Repository(folder string) string {
	name, newest := "", time.Time{}
	for _, e := range l.Entries {
		for _, s := range e.Signatures() {
			if s.Authority != "" && s.Source != "" && s.WitnessedAt.After(newest) {
				name, newest = s.Source, s.WitnessedAt
			}
		}
	}
	if name != "" {
		return name
	}
	if whole, err := filepath.Abs(folder); err == nil {
		folder = whole
	}
	return filepath.Base(folder)
}

// apart reports whether two folders are valid and neither contains the other.
func apart(a, b string) bool {
	return a != "." && b != "." && fs.ValidPath(a) && fs.ValidPath(b) &&
		!inside(a, b) && !inside(b, a)
}

// inside reports whether a path is the folder or lies in it.
func inside(name, folder string) bool { return name == folder || strings.HasPrefix(name, folder+"/") }

// reading is a report in the making.
type reading struct {
	Options
	repository *git.Repository
	at         time.Time
	ledger     *Ledger

	line   []*step // oldest first
	beside []*step // commits that were merged into the line
	known  map[git.Hash]*git.Commit
	cuts   map[git.Hash]bool // commits without their parents, in a shallow clone
	ours   map[string]bool   // see findOurs
	blobs  map[content]*blob
	// workers parse and verify the contents.
	workers errgroup.Group
	// counted is an upper bound of the number of documents. changed is the number of changes.
	counted, changed int
}

// Limits of the input. Beyond them Read returns [ErrTooMuch].
const (
	// MaxCommits is the maximum number of commits.
	MaxCommits = 250_000
	// MaxChanges is the maximum number of changed files in the two folders.
	MaxChanges = 1_000_000
	// MaxDocuments is the maximum number of different documents. Each needs a few KiB of memory.
	MaxDocuments = 200_000
	// MaxObjects is the maximum number of exceptions in a cluster.
	MaxObjects = 100_000

	// maxOrigin is the maximum number of merged commits to search for the author of a file.
	maxOrigin = 1000
	// maxMoved is the maximum number of file contents to read when following moved exceptions.
	maxMoved = 100_000
	// maxText is the maximum number of bytes kept of one text.
	maxText = 2 << 10
	// maxListed is the maximum number of policies of an exception, and of rules of each policy.
	maxListed = 100

	// clockSkew is the maximum difference between two clocks before it is a finding.
	clockSkew = 10 * time.Minute
)

// ErrTooMuch means that the history exceeds a limit.
var ErrTooMuch = errors.New("there is too much for an audit report")

func tooMuch(most int, what string) error {
	return fmt.Errorf("%w: the maximum is %d %s", ErrTooMuch, most, what)
}

// short cuts a text after maxText bytes.
func short(text string) string {
	if len(text) <= maxText {
		return text
	}
	cut := maxText
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}

package git

import (
	"errors"
	"fmt"
)

// Limits, in bytes unless stated otherwise.
const (
	// MaxFile is the maximum size of a file. A thousand signed exceptions in one file need half of
	// it.
	MaxFile = 32 << 20
	// MaxEntries is the maximum number of files and folders in one tree. Folders can share their
	// content, so a few objects can create billions of files.
	MaxEntries = 100_000
	// MaxDepth is the maximum depth of nested folders.
	MaxDepth = 64
	// MaxParents is the maximum number of parents of a commit.
	MaxParents = 20_000

	maxTree   = 16 << 20
	maxTrees  = 256 << 20 // per walk
	maxCommit = 1 << 20   // also for tags; the header of a larger commit is read
	maxLink   = 4 << 10
	maxPath   = 4 << 10
	// maxHeld limits the memory for one packed object: its base, which may be a larger file of
	// another branch, its deltas and its result. maxKept and a copy for the caller come on top.
	// maxMade limits the total size of all intermediate results.
	maxHeld = 3 * MaxFile
	maxMade = 64 * MaxFile
	// maxSpent limits the work for all objects of one tree together, because a small object can
	// require many large ones. Unpacked bytes count eightfold, because they take that much longer.
	maxSpent      = 8 << 30
	unpacking     = 8
	maxChain      = 4096 // bases of one object; Git makes 50 by default and at most 4095
	maxPacks      = 1024
	maxReference  = 1 << 10
	maxPackedRefs = 256 << 20
	maxShallow    = 16 << 20
	// maxKept limits the cached results of deltas and their bases. The next object often uses the
	// last one.
	maxKept = 2 * MaxFile
	// maxKeptTrees limits the cached trees. A commit shares most trees with its parent.
	maxKeptTrees = 8 << 20
)

// ErrTooLarge is the error for an object above the limits.
var ErrTooLarge = errors.New("it is too large")

func tooLarge[N int | int64 | uint64](size N, most int64) error {
	return fmt.Errorf("%w: %d bytes, and the maximum is %d", ErrTooLarge, size, most)
}

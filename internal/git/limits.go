package git

import (
	"errors"
	"fmt"
	"time"
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
	maxCommit = 1 << 20 // also for tags; the header of a larger commit is read
	maxLink   = 4 << 10
	maxPath   = 4 << 10
	// maxRead and maxWait limit all objects of one tree together: their size, and the time that Git
	// needs for them. A small object can be a change of a large one.
	maxRead      = 1 << 30
	maxWait      = 10 * time.Minute
	maxReference = 1 << 10
	maxShallow   = 16 << 20
	// maxKeptTrees limits the cached trees. A commit shares most trees with its parent.
	maxKeptTrees = 8 << 20
)

// ErrTooLarge is the error for an object above the limits.
var ErrTooLarge = errors.New("it is too large")

func tooLarge[N int | int64 | uint64](size N, most int64) error {
	return fmt.Errorf("%w: %d bytes, and the maximum is %d", ErrTooLarge, size, most)
}

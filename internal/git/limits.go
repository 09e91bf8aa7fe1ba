package git

import (
	"errors"
	"fmt"
)

// Limits of what is read, in bytes unless said otherwise.
const (
	// MaxFile is the most that a file may have. A file of a thousand sealed
	// exceptions has half of it.
	MaxFile = 32 << 20
	// MaxFiles is the most that the files of one tree may have which are read.
	MaxFiles = 256 << 20
	// MaxEntries is how many files and folders are looked at in one tree. Folders
	// can share their content, so that a few objects make billions of files.
	MaxEntries = 100_000
	// MaxDepth is how many folders lie in each other at most.
	MaxDepth = 64
	// MaxParents is how many parents a commit has at most.
	MaxParents = 64

	maxTree   = 16 << 20
	maxTrees  = 256 << 20 // that one walk looks into
	maxCommit = 1 << 20   // and tags
	maxLink   = 4 << 10
	maxPath   = 4 << 10
	// maxHeld is how much one packed object may take: its base, which may be a larger file of
	// another branch, the changes to it and what they make. maxKept comes on top, and a copy
	// of what is handed out. maxMade is how much is made of them on the way to it.
	maxHeld = 3 * MaxFile
	maxMade = 64 * MaxFile
	// maxSpent is how much is made for one tree, of all its objects together: a small
	// object can be made of many large ones. What is unpacked counts eightfold, as it
	// takes that much longer.
	maxSpent      = 8 << 30
	unpacking     = 8
	maxChain      = 4096 // bases of one object; Git makes 50, and 4095 when told to
	maxPacks      = 1024
	maxReference  = 1 << 10
	maxPackedRefs = 256 << 20
	maxShallow    = 16 << 20
	// maxKept is how much of the objects that were made of changes, and of their bases, is
	// kept, since the next one is often made of the last.
	maxKept = 2 * MaxFile
	// maxKeptTrees is how much of the trees that were read last is kept, since a
	// commit holds much of what the one before it does.
	maxKeptTrees = 8 << 20
)

// ErrTooLarge is returned for an object beyond the limits.
var ErrTooLarge = errors.New("it is too large")

func tooLarge[N int | int64 | uint64](size N, most int64) error {
	return fmt.Errorf("%w: %d bytes, and %d are the most", ErrTooLarge, size, most)
}

package gitchange

import (
	"encoding/binary"
	"io/fs"
	"syscall"
)

// statOf returns what the index notes before a file's mode (changed, modified,
// device, inode) and behind it (owner, group, size), of each the lower 32 bits.
func statOf(info fs.FileInfo) (before [indexMode]byte, behind [12]byte) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return before, behind
	}
	for i, n := range []int64{s.Ctim.Sec, s.Ctim.Nsec, s.Mtim.Sec, s.Mtim.Nsec, int64(s.Dev), int64(s.Ino)} { // #nosec G115 -- bits, not numbers
		binary.BigEndian.PutUint32(before[4*i:], uint32(n)) // #nosec G115
	}
	for i, n := range []int64{int64(s.Uid), int64(s.Gid), s.Size} {
		binary.BigEndian.PutUint32(behind[4*i:], uint32(n)) // #nosec G115
	}
	return before, behind
}

package size_test

import "syscall"

// maxRSS is in bytes; Linux counts in KiB (getrusage(2)).
func maxRSS(usage *syscall.Rusage) int64 { return usage.Maxrss << 10 }

package size_test

import "syscall"

// maxRSS is in bytes, as macOS counts.
func maxRSS(usage *syscall.Rusage) int64 { return usage.Maxrss }

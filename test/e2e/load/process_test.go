//go:build e2e

package load

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// tick is the kernel's unit of CPU time (sysconf(_SC_CLK_TCK)).
const tick = 10 * time.Millisecond

// cpu returns the CPU time of a process (proc_pid_stat(5)).
func cpu(t *testing.T, pid int) time.Duration {
	t.Helper()
	text := proc(t, pid, "stat")
	// The program's name, in parentheses, can contain anything.
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	const utime, stime = 14 - 3, 15 - 3 // the first of these is the third
	var ticks int64
	for _, field := range []string{fields[utime], fields[stime]} {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * tick
}

// memory returns a line of /proc/PID/status in bytes: VmRSS, VmHWM for the peak, or RssAnon for
// anonymous memory (proc_pid_status(5)).
func memory(t *testing.T, pid int, line string) int64 {
	t.Helper()
	for text := range strings.Lines(proc(t, pid, "status")) {
		if value, found := strings.CutPrefix(text, line+":"); found {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Fatalf("there is no %s", line)
	return 0
}

// files returns the number of a process' open files and connections.
func files(t *testing.T, pid int) int {
	t.Helper()
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(open)
}

func proc(t *testing.T, pid int, name string) string {
	t.Helper()
	if pid == 0 {
		t.Fatal("the process does not run")
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name))
	if err != nil {
		t.Skip("only Linux says what a process takes: ", err)
	}
	return string(text)
}

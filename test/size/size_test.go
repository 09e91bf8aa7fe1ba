package size_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/polex-dev/polex/test/must"
	"github.com/polex-dev/polex/test/programs"
)

// shipped lists the released commands, an argument for a quick run, and the maximum size in bytes; 0 sets no maximum.
var shipped = []struct {
	command, argument string
	most              int64
}{
	{"polex-validate", "--version", 12e6},
	{"polex-verify", "--version", 16e6},
	{"polex-sign", "--version", 27e6},
	{"polex-prune", "--version", 13e6},
	{"polex-request", "--version", 23e6},
	{"polex-audit", "--version", 27e6},
	{"polex-guard", "--version", 40e6},
	{"polex", "--version", 70e6},
	{"polex-sandbox", "--version", 0},
}

const runs = 10

// TestSize builds the commands as a release does, prints their sizes, times and memory, and fails
// if one exceeds its limit. It does not judge times.
func TestSize(t *testing.T) {
	dir := must.Get(programs.Build("../.."))(t)
	var table strings.Builder
	fmt.Fprintf(&table, "%-16s %10s %10s %14s %12s\n", "command", "size MB", "limit MB", "start-up ms", "peak RSS MB")
	for _, s := range shipped {
		path := filepath.Join(dir, s.command)
		info := must.Get(os.Stat(path))(t)
		took, peak := start(t, path, s.argument)
		limit := "-"
		if s.most > 0 {
			limit = fmt.Sprintf("%.1f", float64(s.most)/1e6)
		}
		fmt.Fprintf(&table, "%-16s %10.1f %10s %14.1f %12.1f\n", s.command, float64(info.Size())/1e6, limit, float64(took.Microseconds())/1e3, float64(peak)/1e6)
		if s.most > 0 && info.Size() > s.most {
			t.Errorf("%s has %d bytes, and %d are its limit", s.command, info.Size(), s.most)
		}
	}
	t.Logf("median of %d starts\n%s", runs, table.String())
}

// start runs a command and returns the median of its times, and its peak memory.
func start(t *testing.T, path, argument string) (median time.Duration, peak int64) {
	t.Helper()
	var took []time.Duration
	for range runs {
		began := time.Now()
		command := exec.CommandContext(t.Context(), path, argument)
		must.Run(t, command)
		took = append(took, time.Since(began))
		if usage, ok := command.ProcessState.SysUsage().(*syscall.Rusage); ok {
			peak = max(peak, maxRSS(usage))
		}
	}
	slices.Sort(took)
	return took[runs/2], peak
}

// Package beside measures several ways to do the same work in turns, so that other load on the
// machine affects all of them alike. It prints medians and their ratios, and asserts nothing.
package beside

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/test/must"
)

// Way is one way to do the work. Do fails the test if the work was not done.
type Way struct {
	Name string
	Do   func() Cost

	costs []Cost
}

// Cost is what the work took. Zero fields were not measured.
type Cost struct {
	Time time.Duration
	CPU  time.Duration
	Peak int64 // bytes of memory
}

// Timed is the time of a call that must succeed.
func Timed(t testing.TB, do func() error) Cost {
	t.Helper()
	began := time.Now()
	must.Do(t, do())
	return Cost{Time: time.Since(began)}
}

// Turn lets each way do its work once.
func Turn(ways ...*Way) {
	for _, w := range ways {
		w.costs = append(w.costs, w.Do())
	}
}

// Measure lets each way do its work runs times, and prints the table.
func Measure(t testing.TB, what string, runs int, ways ...*Way) {
	t.Helper()
	for range runs {
		Turn(ways...)
	}
	t.Logf("%s: medians of %d runs, on %d processors\n%s", what, runs, runtime.NumCPU(), Table(ways...))
}

// Table has a line for each way. The ratios are relative to the first one.
func Table(ways ...*Way) string {
	var table strings.Builder
	for _, w := range ways {
		fmt.Fprintf(&table, "%-36s %10s (%.2f)", w.Name, w.Median().Round(10*time.Microsecond), w.Ratio(ways[0]))
		if cpu := w.CPU(); cpu > 0 {
			fmt.Fprintf(&table, ", CPU %s", cpu.Round(10*time.Microsecond))
		}
		if peak := w.Peak(); peak > 0 {
			fmt.Fprintf(&table, ", peak %.1f MB", float64(peak)/1e6)
		}
		table.WriteString("\n")
	}
	return table.String()
}

// Median is that of the times.
func (w *Way) Median() time.Duration {
	var times []time.Duration
	for _, c := range w.costs {
		times = append(times, c.Time)
	}
	slices.Sort(times)
	return times[len(times)/2]
}

// Ratio compares the medians of two ways.
func (w *Way) Ratio(other *Way) float64 { return float64(w.Median()) / float64(other.Median()) }

// CPU is the mean of the CPU times, which the kernel counts in steps of 10 ms.
func (w *Way) CPU() (mean time.Duration) {
	for _, c := range w.costs {
		mean += c.CPU / time.Duration(len(w.costs))
	}
	return mean
}

// Peak is the highest use of memory.
func (w *Way) Peak() (peak int64) {
	for _, c := range w.costs {
		peak = max(peak, c.Peak)
	}
	return peak
}

// Process runs a program in a folder from start to end, and returns its cost and its output. The
// program measure (test/e2e/measure) starts it: the peak memory of a process begins with that of
// its parent.
func Process(ctx context.Context, measure, dir string, args ...string) (Cost, string, error) {
	measured := filepath.Join(dir, "measured.json")
	command := exec.CommandContext(ctx, measure, append([]string{measured}, args...)...)
	command.Dir = dir
	out, err := command.CombinedOutput()
	text, readErr := os.ReadFile(measured)
	if readErr != nil {
		return Cost{}, string(out), fmt.Errorf("measure %q: %w", args, readErr)
	}
	var m struct{ Nanoseconds, PeakBytes int64 }
	if err := json.Unmarshal(text, &m); err != nil {
		return Cost{}, string(out), fmt.Errorf("measure %q: %w", args, err)
	}
	return Cost{Time: time.Duration(m.Nanoseconds), Peak: m.PeakBytes}, string(out), err
}

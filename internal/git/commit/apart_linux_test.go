package commit_test

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// TestInterruptedReads: a terminal interrupts every process of the run's group. The Git that reads
// objects is not in that group.
func TestInterruptedReads(t *testing.T) {
	r := newRepository(t, waiting)
	must.Get(open(t, r, nil).Resolve("HEAD"))(t)
	out, err := exec.Command("ps", "-o", "pid=,pgid=,args=", "--ppid", strconv.Itoa(os.Getpid())).Output()
	must.Do(r.TB, err)
	met := false
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); strings.Contains(line, "cat-file --batch") {
			met = true
			expect.That(t, fields[0] == fields[1], "it is of another's group: %s", line)
		}
	}
	expect.That(t, met, "nothing reads:\n%s", out)
}

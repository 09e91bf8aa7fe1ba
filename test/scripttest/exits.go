// Package scripttest contains commands for test scripts of several packages.
package scripttest

import (
	"errors"
	"os/exec"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// Exits implements the command exits N COMMAND..., which requires the exit code N. The script
// language's ! cannot distinguish 1 from 3.
func Exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits status command...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%s: %v", args[1], err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("%s exits %d, not %d", args[1], got, want)
	}
}

// Takes makes a script command of a function that takes a number of arguments. The usage names them.
func Takes(usage string, run func(ts *testscript.TestScript, args []string)) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != strings.Count(usage, " ") {
			ts.Fatalf("usage: %s", usage)
		}
		run(ts, args)
	}
}

// Command measure runs a program and writes its time and peak memory to a file, as JSON: measure
// FILE PROGRAM ARGUMENT... It is small because Linux first counts the memory of the parent as the
// program's own.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

type measured struct{ Nanoseconds, PeakBytes int64 }

func main() {
	status, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "measure:", err)
		os.Exit(125)
	}
	os.Exit(status)
}

// run returns the program's exit code.
func run(args []string) (int, error) {
	if len(args) < 2 {
		return 0, errors.New("name a file and a program")
	}
	command := exec.Command(args[1], args[2:]...) //nolint:gosec // what the caller wants measured
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	began := time.Now()
	err := command.Run()
	m := measured{Nanoseconds: time.Since(began).Nanoseconds()}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, err
	}
	if usage, ok := command.ProcessState.SysUsage().(*syscall.Rusage); ok {
		m.PeakBytes = usage.Maxrss
		if runtime.GOOS != "darwin" { // only macOS counts in bytes (getrusage(2))
			m.PeakBytes <<= 10
		}
	}
	text, err := json.Marshal(m)
	if err != nil {
		return 0, err
	}
	return command.ProcessState.ExitCode(), os.WriteFile(args[0], text, 0o600)
}

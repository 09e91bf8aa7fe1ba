package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// grace is how long a command that was told to end may take for it. What writes undoes
// or leaves to its next run what it has begun, as after a crash.
const grace = 700 * time.Millisecond

// Main runs the command that build makes with the process's own streams and
// arguments, and exits with its status. On SIGINT or SIGTERM the command's context
// ends. A command that does not end soon after, busy or waiting for its input, is
// ended, and its status is that of the signal: 130 or 143.
func Main(build func(Streams) *cobra.Command) { run(build, grace) }

// Serve is [Main] for a command that answers others, and takes the time that it needs
// to hand over. A second signal ends it.
func Serve(build func(Streams) *cobra.Command) { run(build, 0) }

// run gives the command so long to end, 0 for any time.
func run(build func(Streams) *cobra.Command, grace time.Duration) {
	ctx, cancel := context.WithCancel(context.Background())
	told := make(chan os.Signal, 2)
	signal.Notify(told, os.Interrupt, syscall.SIGTERM)
	go func() {
		first := <-told
		cancel()
		var late <-chan time.Time
		if grace > 0 {
			late = time.After(grace)
		}
		select {
		case <-told:
		case <-late:
		}
		status := interrupted
		if first == syscall.SIGTERM {
			status = terminated
		}
		fmt.Fprintf(os.Stderr, "%s: error: ended by a signal (%s) before it was done\n", filepath.Base(os.Args[0]), first)
		os.Exit(status)
	}()
	os.Exit(Run(ctx, build, os.Args[1:], Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Now: time.Now}))
}

// The exit statuses of a command that a signal has ended, as shells have them.
const (
	interrupted = 128 + int(syscall.SIGINT)
	terminated  = 128 + int(syscall.SIGTERM)
)

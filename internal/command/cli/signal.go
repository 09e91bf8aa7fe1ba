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

// signals is the annotation of a command, and of those below it, that does not end by
// itself when it is told to.
const (
	signals = "polex_signals"
	serves  = "serves"
	handles = "handles"
)

// Serves says that a command answers others, and takes the time that it needs to hand
// over. A second signal ends it.
func Serves(cmd *cobra.Command) { annotate(cmd, signals, serves) }

// HandlesSignals says that a command, and each below it, handles signals by itself.
func HandlesSignals(cmd *cobra.Command) { annotate(cmd, signals, handles) }

func annotate(cmd *cobra.Command, key, value string) {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[key] = value
}

// annotation is that of the command that the arguments name, or of one above it.
func annotation(root *cobra.Command, args []string, key string) string {
	cmd, _, _ := root.Find(args) // for whatever else is wrong, the last one that was found
	for ; cmd != nil; cmd = cmd.Parent() {
		if value := cmd.Annotations[key]; value != "" {
			return value
		}
	}
	return ""
}

// Main runs the command that build makes with the process's own streams and
// arguments, and exits with its status. On SIGINT or SIGTERM the command's context
// ends. A command that does not end soon after, busy or waiting for its input, is
// ended, and its status is that of the signal: 130 or 143.
func Main(build func(Streams) *cobra.Command) {
	streams := Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Now: time.Now}
	root, ctx := build(streams), context.Background()
	if how := annotation(root, os.Args[1:], signals); how != handles {
		ctx = untilTold(ctx, how == serves)
	}
	os.Exit(execute(ctx, root, os.Args[1:], streams))
}

// untilTold returns a context that ends when the process is told to end. The process
// ends by itself then, at a second signal or unless it serves after a while.
func untilTold(parent context.Context, serves bool) context.Context {
	ctx, cancel := context.WithCancel(parent)
	told := make(chan os.Signal, 2)
	signal.Notify(told, os.Interrupt, syscall.SIGTERM)
	go func() {
		first := <-told
		cancel()
		var late <-chan time.Time
		if !serves {
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
	return ctx
}

// The exit statuses of a command that a signal has ended, as shells have them.
const (
	interrupted = 128 + int(syscall.SIGINT)
	terminated  = 128 + int(syscall.SIGTERM)
)

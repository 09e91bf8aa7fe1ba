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

// grace is the time for a command to end after a signal. After that, the process exits as in a
// crash: a command that writes files can undo or finish its work in the next run.
const grace = 700 * time.Millisecond

// signals is the annotation of a command that handles signals differently. It applies to its
// subcommands too.
const (
	signals = "polex_signals"
	serves  = "serves"
	handles = "handles"
)

// Serves marks a command as a server, which may take as long as it needs to shut down. A second
// signal ends it.
func Serves(cmd *cobra.Command) { annotate(cmd, signals, serves) }

// HandlesSignals marks a command, with its subcommands, as handling signals itself.
func HandlesSignals(cmd *cobra.Command) { annotate(cmd, signals, handles) }

func annotate(cmd *cobra.Command, key, value string) {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[key] = value
}

// annotation returns an annotation of the command in the arguments, or of its nearest parent that
// has it.
func annotation(root *cobra.Command, args []string, key string) string {
	cmd, _, _ := root.Find(args) // with invalid arguments, the last command that was found
	for ; cmd != nil; cmd = cmd.Parent() {
		if value := cmd.Annotations[key]; value != "" {
			return value
		}
	}
	return ""
}

// Main runs the command that build makes, with the streams and arguments of the process, and exits
// with its exit code. SIGINT and SIGTERM cancel the context of the command. If the command does not
// end soon after that, the process exits with the code of the signal: 130 or 143.
func Main(build func(Streams) *cobra.Command) {
	streams := Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Now: time.Now}
	root, ctx := build(streams), context.Background()
	if how := annotation(root, os.Args[1:], signals); how != handles {
		ctx = untilTold(ctx, how == serves)
	}
	os.Exit(Run(ctx, func(Streams) *cobra.Command { return root }, os.Args[1:], streams))
}

// untilTold returns a context that a signal cancels. After that, the process exits at a second
// signal or, unless it is a server, after the grace time.
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
		fmt.Fprintf(os.Stderr, "%s: error: ended by a signal (%s) before it was done\n", filepath.Base(os.Args[0]),
			first)
		os.Exit(status)
	}()
	return ctx
}

// The exit codes after a signal, as in shells.
const (
	interrupted = 128 + int(syscall.SIGINT)
	terminated  = 128 + int(syscall.SIGTERM)
)

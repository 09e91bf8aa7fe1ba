package cli_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/test/must"
)

// behaviour is an environment variable that turns the test binary into a command with this behaviour.
const behaviour = "POLEX_TEST_BEHAVIOUR"

func TestMain(m *testing.M) {
	if how := os.Getenv(behaviour); how != "" {
		os.Args = os.Args[:1]
		build := func(streams cli.Streams) *cobra.Command {
			cmd := &cobra.Command{Use: "behaves", RunE: func(cmd *cobra.Command, _ []string) error { return behave(cmd.Context(), how, streams) }}
			if how == "hands over" {
				cli.Serves(cmd)
			}
			return cmd
		}
		cli.Main(build)
	}
	os.Exit(m.Run())
}

func behave(ctx context.Context, how string, streams cli.Streams) error {
	_, _ = fmt.Fprintln(streams.Out, "ready")
	switch how {
	case "computes":
		for i := 0; ; i++ {
			_ = i * i
		}
	case "reads":
		_, err := io.Copy(io.Discard, streams.In)
		return err
	case "undoes":
		<-ctx.Done()
		_, _ = fmt.Fprintln(streams.Out, "undone")
		return ctx.Err()
	default: // shuts down normally after the signal
		<-ctx.Done()
		_, _ = fmt.Fprintln(streams.Out, "handing over")
		_, err := io.Copy(io.Discard, streams.In)
		return err
	}
}

// TestSignals: a command ends after a signal, even if it is busy. It can undo its work first.
func TestSignals(t *testing.T) {
	for _, tc := range []struct {
		how     string
		signals []os.Signal
		last    string // last line of its output
		want    int
	}{
		{"computes", []os.Signal{syscall.SIGTERM}, "ready", 143},
		{"computes", []os.Signal{os.Interrupt}, "ready", 130},
		{"reads", []os.Signal{syscall.SIGTERM}, "ready", 143},
		{"reads", []os.Signal{os.Interrupt, os.Interrupt}, "ready", 130},
		{"undoes", []os.Signal{syscall.SIGTERM}, "undone", cli.Undecided},
		{"undoes", []os.Signal{os.Interrupt}, "undone", cli.Undecided},
		{"hands over", []os.Signal{syscall.SIGTERM}, "handing over", cli.Passed},
		{"hands over", []os.Signal{syscall.SIGTERM, syscall.SIGTERM}, "handing over", 143},
	} {
		t.Run(fmt.Sprint(tc.how, tc.signals), func(t *testing.T) {
			t.Parallel()
			// The timeout is for a command that does not end at all.
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			child := exec.CommandContext(ctx, os.Args[0])
			child.Env = append(os.Environ(), behaviour+"="+tc.how)
			in := must.Get(child.StdinPipe())(t)
			defer in.Close()
			out := must.Get(child.StdoutPipe())(t)
			must.Do(t, child.Start())
			said := bufio.NewScanner(out)
			must.That(t, said.Scan() && said.Text() == "ready", "it says %q, %v", said.Text(), said.Err())
			for i, s := range tc.signals {
				must.Do(t, child.Process.Signal(s))
				if tc.how == "hands over" && i == 0 && (!said.Scan() || said.Text() != tc.last) {
					t.Fatalf("it says %q, %v", said.Text(), said.Err())
				}
			}
			if tc.how == "hands over" && len(tc.signals) == 1 {
				in.Close() // the others keep their input open
			}
			last := said.Text()
			for said.Scan() {
				last = said.Text()
			}
			err := child.Wait()
			var exit *exec.ExitError
			must.That(t, err == nil || errors.As(err, &exit), "%v", err)
			if got := child.ProcessState.ExitCode(); got != tc.want || last != tc.last || ctx.Err() != nil {
				t.Errorf("status %d, last said %q, %v, want %d and %q", got, last, ctx.Err(), tc.want, tc.last)
			}
		})
	}
}

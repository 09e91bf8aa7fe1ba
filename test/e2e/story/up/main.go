// Command up starts all services of the story, prints their addresses, and runs until it is
// interrupted. `make e2e-up` runs it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/polex-dev/polex/test/e2e/story"
)

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "up: error:", err)
		os.Exit(1)
	}
}

// run runs everything until it is interrupted, and leaves no processes or files.
func run(out io.Writer) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "polex-up-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	world, err := story.Start(ctx, story.Options{Root: root, Dir: dir, Log: out})
	if err != nil {
		return err
	}
	defer func() {
		fmt.Fprintln(out, "Everything ends.")
		err = errors.Join(err, world.Close())
	}()
	if err := world.Explain(out); err != nil {
		return err
	}
	return world.Watch(ctx, out)
}

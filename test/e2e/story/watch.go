package story

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"
)

// Watch runs the merge workflow for each push to main, like GitHub, until the context ends.
func (w *World) Watch(ctx context.Context, out io.Writer) error {
	known, err := w.Exceptions.Tip(ctx)
	if err != nil {
		return err
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		tip, err := w.Exceptions.Tip(ctx)
		if err == nil && tip != known {
			known, err = tip, w.pushed(ctx, tip, out)
		}
		if err != nil && ctx.Err() == nil {
			fmt.Fprintln(out, "the merge workflow:", err)
		}
	}
}

// pushed runs the merge workflow if there are pending exceptions in unsigned/.
func (w *World) pushed(ctx context.Context, tip string, out io.Writer) error {
	if err := w.pull(ctx); err != nil {
		return err
	}
	waiting, err := w.Exceptions.Holds(ctx, "unsigned")
	if err != nil || len(waiting) == 0 {
		return err
	}
	fmt.Fprintf(out, "main is at %.12s: the merge workflow runs for %q\n", tip, waiting)
	log, err := w.sign(ctx, tip)
	if err != nil {
		return err
	}
	if !log.Succeeded() {
		fmt.Fprintln(out, log.Text)
	}
	for _, job := range slices.Sorted(maps.Keys(log.Results)) {
		fmt.Fprintf(out, "  %s: %s\n", job, log.Results[job])
	}
	return nil
}

//go:build e2e

package story_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/polex-dev/polex/test/e2e/story"
)

// world is the one that all tests of this process play in.
var world *story.World

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "polex-story-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if world, err = story.Start(context.Background(), story.Options{Root: fromRoot(""), Dir: dir, Log: os.Stdout}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer world.Close()
	status := m.Run()
	if status != 0 {
		fmt.Fprintln(os.Stderr, world.Logs())
	}
	return status
}

func fromRoot(path string) string {
	absolute, err := filepath.Abs(filepath.Join("..", "..", "..", filepath.FromSlash(path)))
	if err != nil {
		return path
	}
	return absolute
}

//go:build e2e

package story_test

import (
	"context"
	"os"
	"testing"

	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/e2e/story"
)

// world is shared by all tests of this process.
var world *story.World

func TestMain(m *testing.M) {
	fixture.Main(m, func(ctx context.Context, f *fixture.Fixture) (err error) {
		if world, err = story.Start(ctx, story.Options{Root: fixture.FromRoot(""), Dir: f.Folder, Log: os.Stdout}); err == nil {
			f.Keep(world)
		}
		return err
	})
}

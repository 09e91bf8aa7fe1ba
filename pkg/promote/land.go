package promote

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/polex-dev/polex/pkg/gitchange"
	"github.com/polex-dev/polex/pkg/promote/trailer"
)

// ErrUnpushed says that the local branch has commits that the remote has not and
// that are no promotions: pushing those is not this package's to do.
var ErrUnpushed = errors.New("the local branch has a commit that is not on the remote, and that is no promotion")

// Land pushes the promotions that the local branch has and the remote has not: of
// a run that was cut off before it pushed, or that was not told to. They are made
// anew, with the same sealed files, where the remote has moved. It returns how
// many there were.
func Land(ctx context.Context, clone *gitchange.Clone, o Options, push gitchange.Push, sign bool) (int, error) {
	if err := checkFolders(&o); err != nil {
		return 0, err
	}
	tip, err := clone.Fetch(ctx, push.To)
	if err != nil {
		return 0, err
	}
	unpushed, err := clone.Unpushed(tip)
	if err != nil {
		return 0, err
	}
	replays := make([]*gitchange.Replay, len(unpushed))
	for i, commit := range unpushed {
		if replays[i], err = clone.Replay(commit); err != nil {
			return 0, err
		}
		if !isPromotion(replays[i], o) {
			return 0, fmt.Errorf("%w: %s", ErrUnpushed, commit)
		}
	}
	for i, replay := range replays {
		one := push
		one.Stay, one.Instead = i < len(replays)-1, unpushed[len(unpushed)-1]
		replay.Author.Sign = sign
		if _, err := clone.Push(ctx, replay.Author, one, replay.Propose); err != nil {
			return i, fmt.Errorf("push the promotion %s: %w", unpushed[i], err)
		}
	}
	return len(replays), nil
}

// isPromotion reports whether a commit is what [Promotion.Commit] makes: it says
// so, and does nothing but take files from one folder and put files into the
// other.
func isPromotion(r *gitchange.Replay, o Options) bool {
	if !strings.Contains(r.Message, "\n"+trailer.Source+": ") || len(r.Written) == 0 {
		return false
	}
	for _, name := range r.Written {
		if !strings.HasPrefix(name, o.Signed+"/") {
			return false
		}
	}
	for _, name := range r.Removed {
		if !strings.HasPrefix(name, o.Signed+"/") && !strings.HasPrefix(name, o.Unsigned+"/") {
			return false
		}
	}
	return true
}

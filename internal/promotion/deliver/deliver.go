package deliver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/git/commit"
)

// Way is the destination of a change.
type Way int

// The ways. The zero value changes nothing.
const (
	Plan        Way = iota // nothing: the plan is the result
	Folder                 // signed files in a folder, for another job to commit
	Commit                 // a commit on the branch of the work tree
	Push                   // a commit on the target branch of a remote
	PullRequest            // a commit on a new branch of a remote
)

// To is the destination of a change and the author of its commit.
type To struct {
	Way    Way
	Folder string        // used only for [Folder]
	By     commit.Author // used for a commit
	// Push.To is the target branch, also if nothing is pushed. It is empty only for a clone without a
	// remote. Push.As is used only for [PullRequest].
	Push commit.Push
}

// Pushes reports whether the commit goes to a remote.
func (t To) Pushes() bool { return t.Way == Push || t.Way == PullRequest }

// Local reports whether the change stays in the clone.
func (t To) Local() bool { return t.Way == Plan || t.Way == Commit }

// Shared reports whether other clones move the branch of the commit too.
func (t To) Shared() bool { return t.Way == Push }

// Remote returns the branch to push to.
func (t To) Remote() commit.Remote {
	to := t.Push.To
	if t.Push.As != "" {
		to.Branch = t.Push.As
	}
	return to
}

// Rehearse returns the permanent errors of the destination. It changes nothing that others can see. The
// rules of a remote show only in the push.
func (t To) Rehearse(ctx context.Context, clone *commit.Clone, propose commit.Propose) error {
	switch {
	case t.Way == Folder:
		temporary, err := beside(t.Folder)
		if err == nil {
			err = os.Remove(temporary)
		}
		return err
	case t.Pushes() && t.Push.By == nil:
		return nil
	case t.Pushes():
		return clone.RehearsePush(ctx, t.Push, propose)
	}
	return clone.Rehearse(ctx, propose)
}

// Follow updates the clone to the tip of the branch to push to. It returns the reason if it cannot.
func (t To) Follow(clone *commit.Clone, tip git.Hash) string {
	if t.Way != Push {
		return ""
	}
	if err := clone.Follow(t.By, t.Push, tip); err != nil {
		return fmt.Sprintf("the local branch and the work tree are not at %s: %v", t.Push.To, err)
	}
	return ""
}

// Make makes a change as a commit. It passes the text for Signed-off-by to propose. Its errors are
// those of [commit.Clone].
func (t To) Make(ctx context.Context, clone *commit.Clone,
	propose func(signedOffBy string) commit.Propose) (commit.Result, error) {
	by, err := SignedOffBy(clone, t.By)
	switch {
	case err != nil:
		return commit.Result{}, err
	case t.Pushes():
		return clone.Push(ctx, t.By, t.Push, propose(by))
	default:
		return clone.Commit(ctx, t.By, propose(by))
	}
}

// SignedOffBy returns an author in the form of a commit message: Name <address>.
func SignedOffBy(clone *commit.Clone, by commit.Author) (string, error) {
	author, err := clone.Signature(by)
	return fmt.Sprintf("%s <%s>", author.Name, author.Email), err
}

// WriteFolder writes files into a new folder for another job. The folder must not exist yet. It is created
// completely or not at all.
func WriteFolder(dir string, files map[string][]byte) (err error) {
	temporary, err := beside(dir)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("write signed files: %w", errors.Join(err, os.RemoveAll(temporary)))
		}
	}()
	for name, content := range files {
		to := filepath.Join(temporary, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, content, 0o644); err != nil {
			return err
		}
	}
	if err := os.Chmod(temporary, 0o755); err != nil { // #nosec G302 -- another job reads it
		return err
	}
	return os.Rename(temporary, dir)
}

// beside creates the temporary folder that is renamed to dir when it is complete.
func beside(dir string) (string, error) {
	if _, err := os.Lstat(dir); err == nil {
		return "", fmt.Errorf("write signed files: %q exists already: remove it, or name another folder with "+
			"--signed-output", dir)
	}
	temporary, err := os.MkdirTemp(filepath.Dir(filepath.Clean(dir)), ".polex-signed-*")
	if err != nil {
		return "", fmt.Errorf("write signed files: %w", err)
	}
	return temporary, nil
}

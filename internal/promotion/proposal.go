package promotion

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/polex-dev/polex/internal/forge"
	"github.com/polex-dev/polex/internal/retry"
)

// The maximum size of the title and the text of a pull request on GitHub, in characters.
const (
	maxTitle = 256
	maxText  = 60_000 // of 65,536
)

// proposalBranch matches the default branches for pull requests, with the start of the source's hash.
var proposalBranch = regexp.MustCompile("^" + PullRequestPrefix + "([0-9a-f]{12})$")

// ErrNotProposed means that the commit is on its branch, and that the forge did not open the pull request.
var ErrNotProposed = errors.New("its pull request is not open")

// Propose opens or updates the pull request of the branch that a run with [Job.PullRequests] has pushed,
// and closes the ones that it replaces: those for an older commit. If nothing is pending any more, it
// closes all of them. It calls tell for each pull request.
func (r *Result) Propose(ctx context.Context, job Job, tell func(string)) error {
	base := job.To.Push.To.Branch
	switch {
	case job.PullRequests == nil || r.Commit.IsZero() && r.Findings.Refuse():
		return nil
	case !r.Commit.IsZero():
		commit, err := job.Clone.Repository.Commit(r.Commit)
		if err != nil {
			return err
		}
		pull, err := job.PullRequests.Propose(ctx, proposal(commit.Message, r.To.Branch, base))
		if err != nil {
			return fmt.Errorf("the commit is on %s, and %w: %w", r.To, ErrNotProposed, err)
		}
		tell("pull request " + pull.URL)
	case r.Documents > 0 || len(r.Skipped) > 0 || r.LeftOut > 0:
		return nil // a later run decides
	}
	pulls, err := job.PullRequests.Open(ctx, base, PullRequestPrefix)
	if err != nil {
		return fmt.Errorf("look for replaced pull requests: %w", err)
	}
	for _, pull := range pulls {
		source := proposalBranch.FindStringSubmatch(pull.Branch)
		if source == nil || pull.Branch == r.To.Branch {
			continue
		}
		// A run for an older commit can end after one for a newer commit.
		older, err := job.PullRequests.IsAncestor(ctx, source[1], r.Source.String())
		if older && err == nil {
			err = job.PullRequests.Close(ctx, pull.Number)
		} else if !retry.Unavailable(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("close the replaced pull request %d: %w", pull.Number, err)
		}
		tell(fmt.Sprintf("closed the pull request %d of an earlier promotion", pull.Number))
	}
	return nil
}

// proposal returns the pull request for a commit. The message is in a code block, where nothing in it
// is markup or notifies somebody.
func proposal(message, branch, base string) forge.Proposal {
	title, rest, _ := strings.Cut(message, "\n")
	text := "The signed exceptions of reviewed requests. The commit moves each request to its signed file:\n\n"
	for line := range strings.Lines(strings.Trim(rest, "\n") + "\n") {
		if len(text)+len(line) > maxText {
			text += "    …\n"
			break
		}
		text += "    " + line
	}
	if len(title) > maxTitle {
		title = strings.ToValidUTF8(title[:maxTitle-3], "") + "…"
	}
	return forge.Proposal{Branch: branch, Base: base, Title: title, Body: text}
}

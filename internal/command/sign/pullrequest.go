package sign

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/commitflags"
	"github.com/polex-dev/polex/internal/deliver"
	"github.com/polex-dev/polex/internal/github"
	"github.com/polex-dev/polex/internal/plain"
	"github.com/polex-dev/polex/internal/promotion"
	"github.com/polex-dev/polex/internal/retry"
)

// The maximum size of the title and the text of a pull request on GitHub, in characters.
const (
	maxTitle = 256
	maxText  = 60_000 // of 65,536
)

// proposalBranch matches the default branches for pull requests, with the start of the source's hash.
var proposalBranch = regexp.MustCompile("^" + promotion.PullRequestPrefix + "([0-9a-f]{12})$")

// propose opens or updates the pull request of a pushed branch, and closes the ones that it replaces:
// those for an older commit. If nothing is pending any more, it closes all of them.
func (r *run) propose(ctx context.Context, job *promotion.Job, result *promotion.Result) error {
	if job.To.Way != deliver.PullRequest || r.options.PushBy != commitflags.GitHub ||
		result.Findings.Refuse() && result.Commit.IsZero() {
		return nil
	}
	client, err := r.options.Client()
	if err != nil {
		return err
	}
	base := job.To.Push.To.Branch
	switch {
	case !result.Commit.IsZero():
		commit, err := job.Clone.Repository.Commit(result.Commit)
		if err != nil {
			return err
		}
		pull, err := client.Propose(ctx, proposal(commit.Message, result.To.Branch, base))
		if err != nil {
			err = fmt.Errorf("the commit is on %s, and its pull request is not open: %w", result.To, err)
			if retry.Unavailable(err) {
				return cli.Hint(err, commitflags.Later)
			}
			return cli.Hint(err, "give the job pull-requests: write, and let the repository's settings allow GitHub "+
				"Actions to create pull requests; then run this again")
		}
		_, _ = fmt.Fprintf(r.streams.Err, "pull request %s\n", plain.Line(pull.URL))
	case result.Documents > 0 || len(result.Skipped) > 0 || result.LeftOut > 0:
		return nil // a later run decides
	}
	return r.closeOlder(ctx, client, base, result)
}

// closeOlder closes the other open pull requests for the same commit or older ones.
func (r *run) closeOlder(ctx context.Context, client *github.Client, base string, result *promotion.Result) error {
	pulls, err := client.OpenPulls(ctx, base, promotion.PullRequestPrefix)
	if err != nil {
		return explain(fmt.Errorf("look for replaced pull requests: %w", err))
	}
	for _, pull := range pulls {
		source := proposalBranch.FindStringSubmatch(pull.Head.Ref)
		if source == nil || pull.Head.Ref == result.To.Branch {
			continue
		}
		// A run for an older commit can end after one for a newer commit.
		older, err := client.IsAncestor(ctx, source[1], result.Source.String())
		if older && err == nil {
			err = client.ClosePull(ctx, pull.Number)
		} else if !retry.Unavailable(err) {
			continue
		}
		if err != nil {
			return explain(fmt.Errorf("close the replaced pull request %d: %w", pull.Number, err))
		}
		_, _ = fmt.Fprintf(r.streams.Err, "closed the pull request %d of an earlier promotion\n", pull.Number)
	}
	return nil
}

// proposal returns the pull request for a commit. The message is in a code block, where nothing in it
// is markup or notifies somebody.
func proposal(message, head, base string) github.Proposal {
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
	return github.Proposal{Head: head, Base: base, Title: title, Body: text}
}

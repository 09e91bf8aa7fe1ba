package github

import "fmt"

// The template's workflows.
const (
	ProposalFile = ".github/workflows/pull-request.yaml"
	MergeFile    = ".github/workflows/merge.yaml"
	ScheduleFile = ".github/workflows/schedule.yaml"
)

// Pushed is what GitHub says of a push to main. What it gives the jobs for their
// identity, act gives to all of them: that only one may have it is for test/actions
// to check.
func Pushed(commit string) Play {
	return Play{Workflow: MergeFile, Event: "push",
		Payload: fmt.Sprintf(`{"ref": "refs/heads/main", "after": %q, "repository": {"full_name": "%s/%s", "default_branch": "main"}}`, commit, Owner, Name)}
}

// Scheduled is what GitHub says when it is time.
func Scheduled() Play {
	return Play{Workflow: ScheduleFile, Event: "schedule",
		Payload: fmt.Sprintf(`{"schedule": "23 3 * * *", "repository": {"full_name": "%s/%s"}}`, Owner, Name)}
}

// Closed is what GitHub says of a pull request that was merged into main as a commit. Where
// that is checked out from has to be said: act does so only with the commit of the run.
func Closed(commit, from string) Play {
	return Play{Workflow: MergeFile, Event: "pull_request", Env: []string{"CHECKOUT_FROM=" + from},
		Payload: fmt.Sprintf(`{"action": "closed", "number": 1, "repository": {"full_name": "%s/%s"},
"pull_request": {"merged": true, "merge_commit_sha": %q, "base": {"ref": "main"}, "head": {"ref": "work"}}}`, Owner, Name, commit)}
}

// Proposed is what GitHub says of a pull request, as far as it names the commit that
// it is to be merged into.
func Proposed(base string) Play {
	return Play{Workflow: ProposalFile, Event: "pull_request",
		Payload: fmt.Sprintf(`{"number": 1, "pull_request": {"base": {"ref": "main", "sha": %q}, "head": {"ref": "work"}}}`, base)}
}

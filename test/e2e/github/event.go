package github

import "fmt"

// The template's workflows.
const (
	ProposalFile = ".github/workflows/pull-request.yaml"
	MergeFile    = ".github/workflows/merge.yaml"
	ScheduleFile = ".github/workflows/schedule.yaml"
)

// Pushed returns the event of a push to main. GitHub gives some jobs data for their identity, and
// act gives it to all jobs. test/actions checks that only one job may have it.
func Pushed(commit string) Play {
	return Play{Workflow: MergeFile, Event: "push",
		Payload: fmt.Sprintf(`{"ref": "refs/heads/main", "after": %q, "repository": {"full_name": "%s/%s", "default_branch": "main"}}`, commit, Owner, Name)}
}

// Scheduled returns the event of a schedule.
func Scheduled() Play {
	return Play{Workflow: ScheduleFile, Event: "schedule",
		Payload: fmt.Sprintf(`{"schedule": "23 3 * * *", "repository": {"full_name": "%s/%s"}}`, Owner, Name)}
}

// Closed returns the event of a pull request that was merged into main as a commit. from is the
// source of the checkout, because act only checks out the commit of the run.
func Closed(commit, from string) Play {
	return Play{Workflow: MergeFile, Event: "pull_request", Env: []string{"CHECKOUT_FROM=" + from},
		Payload: fmt.Sprintf(`{"action": "closed", "number": 1, "repository": {"full_name": "%s/%s"},
"pull_request": {"merged": true, "merge_commit_sha": %q, "base": {"ref": "main"}, "head": {"ref": "work"}}}`, Owner, Name, commit)}
}

// Proposed returns the event of a pull request with its base commit.
func Proposed(base string) Play {
	return Play{Workflow: ProposalFile, Event: "pull_request",
		Payload: fmt.Sprintf(`{"number": 1, "pull_request": {"base": {"ref": "main", "sha": %q}, "head": {"ref": "work"}}}`, base)}
}

package notify

// MaxMembers is the maximum number of events in a summary, which fit into a message of Slack.
const MaxMembers = 25

// Summarize groups all events into summaries of at most [MaxMembers], and keeps their order. The
// members of a summary have the same kind, commit and pull request, and are all verified or all
// unverified.
func Summarize(events []Event) []Event {
	type key struct {
		kind                Kind
		verified            bool
		commit, pullRequest string
	}
	var summaries []Event
	at := map[key]int{}
	for _, e := range events {
		k := key{e.Kind, e.Verified, e.Commit, e.PullRequest}
		n, known := at[k]
		if !known || len(summaries[n].Members) == MaxMembers {
			n = len(summaries)
			at[k] = n
			summaries = append(summaries, Event{Kind: e.Kind, Verified: e.Verified, Commit: e.Commit,
				PullRequest: e.PullRequest, LogIndex: -1})
		}
		summaries[n].Members = append(summaries[n].Members, e)
	}
	return summaries
}

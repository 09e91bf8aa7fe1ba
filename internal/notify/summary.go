package notify

// MaxMembers is how many events one summary holds: as many as the smallest message
// takes, a card of Teams of 28 KB.
const MaxMembers = 25

// Summarize sums up events in as few as there can be of [MaxMembers] each, in the
// order in which they came: all members of a summary are of one kind, either verified
// or not, and of one commit and pull request. None is left out.
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
		n, met := at[k]
		if !met || len(summaries[n].Members) == MaxMembers {
			n = len(summaries)
			at[k] = n
			summaries = append(summaries, Event{Kind: e.Kind, Verified: e.Verified, Commit: e.Commit, PullRequest: e.PullRequest, LogIndex: -1})
		}
		summaries[n].Members = append(summaries[n].Members, e)
	}
	return summaries
}

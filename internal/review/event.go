package review

import (
	"encoding/json"
	"fmt"
)

// event is the payload of a push, or of a pull request that was closed. A push
// says who pushed the merge, which is not who asked for it, and so only the
// second says something here.
type event struct {
	Action      string `json:"action"`
	PullRequest *struct {
		pull
		Merged bool `json:"merged"`
	} `json:"pull_request"`
}

// MaxEvent is how many bytes GitHub makes a payload at most.
const MaxEvent = 25 << 20

func readEvent(payload []byte) (*event, error) {
	if len(payload) > MaxEvent {
		return nil, fmt.Errorf("the event is longer than %d bytes", MaxEvent)
	}
	var e event
	if err := json.Unmarshal(payload, &e); err != nil {
		return nil, fmt.Errorf("read event: %w", err)
	}
	return &e, nil
}

// fromEvent adds what the event says of the record's commit. An event is about
// one merge, and leftovers of another are in no event.
func (r *Reviewer) fromEvent(record *Record) error {
	p := r.event.PullRequest
	if p == nil || r.event.Action != "closed" || !p.Merged || p.MergeCommitSHA != record.Commit ||
		!p.mergedInto(r.config.GitHub.Repository, r.config.Branch) {
		return nil
	}
	address, err := p.check(r.server, r.config.GitHub.Repository)
	if err != nil {
		return err
	}
	record.Number, record.PullRequest, record.Requester = p.Number, address, p.User.Login
	return nil
}

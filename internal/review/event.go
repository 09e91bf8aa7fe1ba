package review

import (
	"encoding/json"
	"fmt"
)

// event is the payload of a push or of a closed pull request. A push names the person who merged,
// not the requester, so only the pull request is used.
type event struct {
	Action      string `json:"action"`
	PullRequest *struct {
		pull
		Merged bool `json:"merged"`
	} `json:"pull_request"`
}

// MaxEvent is the maximum size of a payload on GitHub, in bytes.
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

// fromEvent adds the data of the event to the record, if the event is the merge of the record's
// commit. Pending files of an earlier merge are not in the event.
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

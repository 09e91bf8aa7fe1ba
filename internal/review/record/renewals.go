package record

import (
	"errors"
	"fmt"

	"github.com/polex-dev/polex/internal/review"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/verify"
)

// renewals checks the additional rules for the review of renewals.
func (r *Recorder) renewals(files []File, records map[string]*review.Record) (exception.Refusals, error) {
	var refusals exception.Refusals
	for _, f := range files {
		for i, signed := range f.Predecessors {
			if signed == nil {
				continue
			}
			before, err := r.predecessor(signed)
			if err != nil {
				return nil, fmt.Errorf("verify the predecessor of %s, %s: %w", f.Documents[i].Identity(),
					signed.Position(), err)
			}
			if refusal := r.Reviewer.Renewal(f.Documents[i], records[f.Origin], before); refusal != nil {
				refusals = append(refusals, refusal)
			}
		}
	}
	return refusals, nil
}

// predecessor verifies the renewed exception, if a Verify function is set.
func (r *Recorder) predecessor(signed *exception.Document) (review.Predecessor, error) {
	if r.Verify == nil {
		return review.Predecessor{}, nil
	}
	message, err := r.Verify(signed)
	var rejected *verify.Rejected
	switch {
	case errors.As(err, &rejected):
		return review.Predecessor{Unknown: fmt.Sprintf("%s does not verify: %s", signed.Position(), rejected)}, nil
	case err != nil:
		return review.Predecessor{}, err
	}
	return review.Predecessor{Signed: message}, nil
}

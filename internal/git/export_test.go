package git

import "time"

// LeaveWork sets the remaining work for the present tree.
func (r *Repository) LeaveWork(bytes int64) { r.left.bytes = bytes }

// AnswerWithin sets the limit of the wait for one answer of Git, and returns a function that resets it.
func AnswerWithin(limit time.Duration) (reset func()) {
	before := answerLimit
	answerLimit = limit
	return func() { answerLimit = before }
}

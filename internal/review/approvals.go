package review

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/github"
)

// reviewed is one review. It ignores author_association of the API, which does not prove write
// access.
type reviewed struct {
	ID          int64  `json:"id"`
	User        *user  `json:"user"` // nil if the account was deleted
	State       string `json:"state"`
	CommitID    string `json:"commit_id"`
	SubmittedAt string `json:"submitted_at"` // RFC 3339, UTC
}

// The states of a review that decide. A comment does not change an earlier decision.
const (
	approved         = "APPROVED"
	changesRequested = "CHANGES_REQUESTED"
	dismissed        = "DISMISSED"
)

// maxApprovers is the maximum number of approvers to look up: anybody can approve a pull request of
// a public repository.
const maxApprovers = 100

// verdict holds the approvers, and the reasons for approvals that do not count.
type verdict struct {
	approvers []string
	ignored   []string
}

func (v *verdict) ignore(who *user, why string) {
	v.ignored = append(v.ignored, fmt.Sprintf("%q does not count: %s", who.Login, why))
}

func (v *verdict) hint() string {
	if len(v.ignored) == 0 {
		return "nobody else approved it"
	}
	slices.Sort(v.ignored)
	return "the approval of " + strings.Join(v.ignored, "; that of ")
}

// approvals returns the approvers of a pull request.
func (r *Reviewer) approvals(ctx context.Context, m *merged, files []File) (*verdict, error) {
	what := fmt.Sprintf("read the reviews of pull request %d", m.Number)
	last := map[int64]reviewed{}
	var problem error
	err := github.Pages(ctx, r.api, r.api.Path("/pulls/%d/reviews", m.Number), func(page []reviewed) bool {
		for _, given := range page {
			if given.User == nil || given.State != approved && given.State != changesRequested &&
				given.State != dismissed {
				continue
			}
			if given.SubmittedAt == "" || given.User.ID == 0 {
				problem = &UnknownError{What: fmt.Sprintf("%s: review %d has no time or no author", what, given.ID)}
			}
			before, again := last[given.User.ID]
			if !again || cmp.Or(strings.Compare(before.SubmittedAt, given.SubmittedAt),
				cmp.Compare(before.ID, given.ID)) <= 0 {
				last[given.User.ID] = given
			}
		}
		return true
	})
	if err == nil {
		err = problem
	}
	if err != nil {
		return nil, unanswered(what, err)
	}
	v := &verdict{}
	var counted []*user
	for _, given := range last {
		if given.State == approved && r.counts(m, given, v) {
			counted = append(counted, given.User)
		}
	}
	if len(counted) > maxApprovers {
		return nil, &UnknownError{What: fmt.Sprintf("more than %d people approved pull request %d",
			maxApprovers, m.Number)}
	}
	if len(counted) == 0 {
		return v, nil
	}
	head, err := r.head(ctx, m)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(counted, func(a, b *user) int { return cmp.Compare(a.ID, b.ID) })
	for _, who := range counted {
		if err := r.mayCount(ctx, head, who, v); err != nil {
			return nil, err
		}
	}
	if len(v.approvers) > 0 {
		changed, err := r.changed(ctx, head, files)
		if err != nil {
			return nil, err
		}
		if changed != "" {
			v.approvers = nil
			v.ignored = []string{fmt.Sprintf("commit %s does not count: %q has different content there than the file "+
				"to sign", m.Head.SHA, changed)}
		}
	}
	sortLogins(v.approvers)
	return v, nil
}

// counts reports whether the content of an approval lets it count.
func (r *Reviewer) counts(m *merged, given reviewed, v *verdict) bool {
	switch {
	case given.User.Type != "User":
		v.ignore(given.User, "it is not by a person")
	case given.User.is(m.User):
		v.ignore(given.User, "they requested the exception")
	case given.CommitID != m.Head.SHA && !r.config.InsecureAllowStaleApprovals:
		v.ignore(given.User, "it is not for the last commit")
	default:
		return true
	}
	return false
}

// mayCount adds a person to the approvers if the account may approve.
func (r *Reviewer) mayCount(ctx context.Context, head *headCommit, who *user, v *verdict) error {
	if err := checkLogin(who.Login); err != nil {
		return err
	}
	if who.is(head.Author) || who.is(head.Committer) {
		v.ignore(who, "they made the last commit")
		return nil
	}
	may, err := r.mayWrite(ctx, who)
	switch {
	case err != nil:
		return err
	case !may:
		v.ignore(who, "they may not write to the repository")
	default:
		v.approvers = append(v.approvers, who.Login)
	}
	return nil
}

// mayWrite reports whether a person has write access to the repository.
func (r *Reviewer) mayWrite(ctx context.Context, who *user) (bool, error) {
	key := strings.ToLower(who.Login)
	if may, known := r.writes[key]; known {
		return may, nil
	}
	var answer struct {
		Permission string `json:"permission"` // admin, write, read or none
		User       *user  `json:"user"`
	}
	_, err := r.api.Get(ctx, r.api.Path("/collaborators/%s/permission", who.Login), nil, &answer)
	if err == nil && (answer.User == nil || answer.User.ID != who.ID) {
		err = fmt.Errorf("the answer is about another user")
	}
	if err != nil {
		return false, unanswered(fmt.Sprintf("ask whether %s may write to the repository", who.Login), err)
	}
	r.writes[key] = answer.Permission == "admin" || answer.Permission == "write"
	return r.writes[key], nil
}

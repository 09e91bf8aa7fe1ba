package review

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/forge"
)

// maxApprovers is the maximum number of approvers to look up: anybody can approve a pull request of
// a public repository.
const maxApprovers = 100

// verdict holds the approvers, and the reasons for approvals that do not count.
type verdict struct {
	approvers []string
	ignored   []string
}

func (v *verdict) ignore(who, why string) {
	v.ignored = append(v.ignored, fmt.Sprintf("%q does not count: %s", who, why))
}

func (v *verdict) hint() string {
	if len(v.ignored) == 0 {
		return "nobody else approved it"
	}
	slices.Sort(v.ignored)
	return "the approval of " + strings.Join(v.ignored, "; that of ")
}

// approvals returns the approvers of a pull request.
func (r *Reviewer) approvals(ctx context.Context, m *forge.PullRequest, files []File) (*verdict, error) {
	approvals, err := r.config.Reviews.Approvals(ctx, m.Number)
	if err != nil {
		return nil, unanswered(fmt.Sprintf("read the reviews of pull request %d", m.Number), err)
	}
	v := &verdict{}
	var counted []forge.Account
	for _, given := range approvals {
		if r.counts(m, given, v) {
			counted = append(counted, given.By)
		}
	}
	if len(counted) > maxApprovers {
		return nil, &UnknownError{What: fmt.Sprintf("more than %d people approved pull request %d",
			maxApprovers, m.Number)}
	}
	if len(counted) == 0 {
		return v, nil
	}
	head, err := r.config.Reviews.Commit(ctx, m.Head)
	if err != nil {
		return nil, unanswered("read commit "+m.Head+", which was approved", err)
	}
	slices.SortFunc(counted, func(a, b forge.Account) int { return cmp.Compare(a.ID, b.ID) })
	for _, who := range counted {
		if err := r.mayCount(ctx, head, who, v); err != nil {
			return nil, err
		}
	}
	if len(v.approvers) > 0 {
		changed, err := r.changed(ctx, head.Tree, files)
		if err != nil {
			return nil, err
		}
		if changed != "" {
			v.approvers = nil
			v.ignored = []string{fmt.Sprintf("commit %s does not count: %q has different content there than the file "+
				"to sign", m.Head, changed)}
		}
	}
	sortLogins(v.approvers)
	return v, nil
}

// counts reports whether the content of an approval lets it count.
func (r *Reviewer) counts(m *forge.PullRequest, given forge.Approval, v *verdict) bool {
	switch {
	case !given.By.Person:
		v.ignore(given.By.Login, "it is not by a person")
	case given.By.Is(*m.Author):
		v.ignore(given.By.Login, "they requested the exception")
	case given.Commit != m.Head && !r.config.InsecureAllowStaleApprovals:
		v.ignore(given.By.Login, "it is not for the last commit")
	default:
		return true
	}
	return false
}

// mayCount adds a person to the approvers if the account may approve.
func (r *Reviewer) mayCount(ctx context.Context, head forge.Commit, who forge.Account, v *verdict) error {
	if err := checkLogin(who.Login); err != nil {
		return err
	}
	if slices.ContainsFunc(head.Writers, who.Is) {
		v.ignore(who.Login, "they made the last commit")
		return nil
	}
	key := strings.ToLower(who.Login)
	may, known := r.writes[key]
	if !known {
		var err error
		if may, err = r.config.Reviews.MayWrite(ctx, who); err != nil {
			return unanswered(fmt.Sprintf("ask whether %s may write to the repository", who.Login), err)
		}
		r.writes[key] = may
	}
	if !may {
		v.ignore(who.Login, "they may not write to the repository")
	} else {
		v.approvers = append(v.approvers, who.Login)
	}
	return nil
}

package review

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/polex-dev/polex/internal/retry"
	"github.com/polex-dev/polex/pkg/exception"
)

// codeOwners requires an approval by a code owner for every file. The owners are those before the
// change. If several earlier commits are possible, every one of their rules must be met.
func (r *Reviewer) codeOwners(ctx context.Context, m *merged, files []File, v *verdict) error {
	var refusals exception.Refusals
	refused := map[string]bool{}
	seen := map[string]bool{}
	bases := m.bases
	if len(bases) == 0 {
		bases = []string{""} // the first commit has no earlier rules
	}
	for _, base := range bases {
		rules, text, err := r.rulesAt(base)
		if err != nil {
			return err
		}
		if seen[text] {
			continue
		}
		seen[text] = true
		for _, f := range files {
			if refused[f.Path] {
				continue
			}
			refusal, err := r.ownerApproved(ctx, rules, f, v)
			if err != nil {
				return err
			}
			if refusal != nil {
				refusals = append(refusals, refusal)
				refused[f.Path] = true
			}
		}
	}
	if len(refusals) > 0 {
		return refusals
	}
	return nil
}

// rulesAt returns the rules of a commit and their text.
func (r *Reviewer) rulesAt(commit string) (*CodeOwners, string, error) {
	for _, place := range ownersPlaces {
		if commit == "" {
			break
		}
		text, err := r.config.History.ReadFile(commit, place)
		if isAbsent(err) {
			continue
		}
		if err != nil {
			return nil, "", missing(fmt.Sprintf("read %s of commit %s", place, commit), err)
		}
		rules, err := ParseCodeOwners(text)
		if err != nil {
			return nil, "", &UnknownError{What: fmt.Sprintf("%s of commit %s", place, commit), Err: err, Advice: "fix the line first, and then propose the exception again"}
		}
		return rules, string(text), nil
	}
	return &CodeOwners{}, "", nil
}

// ownerApproved returns nil if an owner of the file is one of the approvers.
func (r *Reviewer) ownerApproved(ctx context.Context, rules *CodeOwners, f File, v *verdict) (*exception.Refusal, error) {
	refusal := &exception.Refusal{Position: exception.Position{File: f.Path}, Reason: ReasonNoCodeOwnerApproval}
	owners, err := rules.Owners(f.Path)
	if err != nil {
		return nil, &UnknownError{What: fmt.Sprintf("find the code owners of %q", f.Path), Err: err}
	}
	if len(owners) == 0 {
		refusal.Message = "CODEOWNERS named no owner of it before the change"
		refusal.Hint = "name one for its folder, in a separate pull request"
		return refusal, nil
	}
	refusal.Message = fmt.Sprintf("none of its code owners %q approved it", owners)
	refusal.Hint = v.hint()
	if len(v.approvers) == 0 {
		return refusal, nil
	}
	var teams []string
	for _, owner := range owners {
		name, isAccount := strings.CutPrefix(owner, "@")
		switch {
		case !isAccount: // an email address does not identify an account
		case strings.Contains(name, "/"):
			teams = append(teams, name)
		case containsLogin(v.approvers, name):
			return nil, nil
		}
	}
	// Look up teams only if no named person has approved.
	var unknown error
	for _, team := range teams {
		for _, login := range v.approvers {
			m, err := r.membership(ctx, team, login)
			if err != nil {
				return nil, err
			}
			if m.active {
				return nil, nil
			}
			if m.unknown != nil {
				unknown = m.unknown
			}
		}
	}
	if unknown != nil {
		return nil, unknown
	}
	return refusal, nil
}

// membership is the result of looking up a person in a team.
type membership struct {
	active  bool
	unknown error // nil if it is known
}

// maxMemberships is the maximum number of pairs of team and person to look up.
const maxMemberships = 500

// membership looks up whether a person is in a team. GitHub gives the same answer if the person is
// not a member and if the token lacks the permission. So only a positive answer is certain.
func (r *Reviewer) membership(ctx context.Context, team, login string) (membership, error) {
	key := strings.ToLower(team + "/" + login)
	if m, again := r.member[key]; again {
		return m, nil
	}
	if !teamForm.MatchString(team) {
		return membership{}, &UnknownError{What: fmt.Sprintf("%q is not a team", team)}
	}
	org, slug, _ := strings.Cut(team, "/")
	if len(r.member) >= maxMemberships {
		return membership{}, &UnknownError{What: fmt.Sprintf("more than %d memberships of teams would have to be looked up", maxMemberships)}
	}
	what := fmt.Sprintf("ask whether %s is a member of @%s", login, team)
	var answer struct {
		State string `json:"state"` // active, or pending
	}
	_, err := r.api.Get(ctx, "/orgs/"+org+"/teams/"+slug+"/memberships/"+login, nil, &answer)
	m := membership{active: answer.State == "active"}
	var answered *retry.StatusError
	switch {
	case errors.As(err, &answered) && (answered.Status == http.StatusForbidden || answered.Status == http.StatusNotFound):
		m = membership{unknown: &UnknownError{What: what, Err: err,
			Advice: "either they are not, or the token may not know: it needs the organisation's permission members: read, which a workflow's own token never has; name people in CODEOWNERS, or pass the token of an app"}}
	case err != nil:
		return membership{}, unanswered(what, err)
	}
	r.member[key] = m
	return m, nil
}

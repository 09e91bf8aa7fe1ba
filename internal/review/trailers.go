package review

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/polex-dev/polex/internal/git"
)

// Trailers are the review data in the last paragraph of a commit message.
type Trailers struct {
	// Approvers are the values of Approved-by, "Name <address>", each address once. Reviewed-by
	// does not count, because GitLab writes it for everyone who reviewed.
	Approvers []Signer
	// MergeRequest is GitLab's reference, group/project!12, or "".
	MergeRequest string
}

// Signer is the person in a trailer.
type Signer struct{ Name, Email string }

// String returns "Name <address>".
func (s Signer) String() string { return s.Name + " <" + s.Email + ">" }

const (
	maxMessage  = 1 << 20
	maxTrailers = 100 // lines
	maxTrailer  = 500 // bytes per line
)

var (
	trailerForm = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9-]{0,63}): (.+)$`)
	signerForm  = regexp.MustCompile(
		`^([^<>,;"]{1,100}) <([A-Za-z0-9.!#$%&'*+/=?^_{|}~-]{1,64}@[A-Za-z0-9.-]{1,190})>$`)
	mergeRequestForm = regexp.MustCompile(
		`^See merge request ((?:[A-Za-z0-9_][A-Za-z0-9_.-]*/)+[A-Za-z0-9_][A-Za-z0-9_.-]*![1-9][0-9]*)$`)
)

// ParseTrailers reads the last paragraph of a commit message. It ignores the first paragraph, which
// is the subject. A paragraph with any other line than trailers and GitLab's reference is prose and
// has no trailers. An invalid name of an approver and a second reference are errors.
func ParseTrailers(message string) (Trailers, error) {
	var t Trailers
	if len(message) > maxMessage {
		return t, fmt.Errorf("the message is longer than %d bytes", maxMessage)
	}
	message = strings.TrimRight(strings.ReplaceAll(message, "\r\n", "\n"), "\n \t")
	at := strings.LastIndex(message, "\n\n")
	if at < 0 {
		return t, nil
	}
	lines := strings.Split(message[at+2:], "\n")
	if len(lines) > maxTrailers {
		return t, nil
	}
	for _, line := range lines {
		if len(line) > maxTrailer || !trailerForm.MatchString(line) && !mergeRequestForm.MatchString(line) {
			return t, nil
		}
	}
	seen := map[string]bool{}
	for _, line := range lines {
		if m := mergeRequestForm.FindStringSubmatch(line); m != nil {
			if t.MergeRequest != "" {
				return Trailers{}, fmt.Errorf("it names two merge requests, %s and %s", t.MergeRequest, m[1])
			}
			t.MergeRequest = m[1]
			continue
		}
		m := trailerForm.FindStringSubmatch(line)
		if !strings.EqualFold(m[1], "Approved-by") {
			continue
		}
		who, err := parseSigner(m[2])
		if err != nil {
			return Trailers{}, fmt.Errorf("%s: %w", m[1], err)
		}
		if address := strings.ToLower(who.Email); !seen[address] {
			seen[address] = true
			t.Approvers = append(t.Approvers, who)
		}
	}
	return t, nil
}

func parseSigner(text string) (Signer, error) {
	m := signerForm.FindStringSubmatch(text)
	if m == nil || strings.TrimSpace(m[1]) != m[1] ||
		strings.ContainsFunc(m[1], func(r rune) bool { return !unicode.IsPrint(r) }) {
		return Signer{}, fmt.Errorf("%q is not written as Name <address>", text)
	}
	return Signer{Name: m[1], Email: m[2]}, nil
}

func (r *Reviewer) fromTrailers(o Origin, record *Record) (*Record, error) {
	commit, err := r.config.History.Commit(git.NewHash(o.Commit))
	if err != nil {
		return nil, missing("read commit "+o.Commit, err)
	}
	t, err := ParseTrailers(commit.Message)
	if err != nil {
		return nil, refuse(o.Files, ReasonNotApproved, fmt.Sprintf("the trailers of commit %s: %s", o.Commit, err),
			"propose the file again in another request")
	}
	record.PullRequest = t.MergeRequest
	v := &verdict{}
	var wrote writers
	if len(t.Approvers) > 0 {
		if wrote, err = r.writers(commit); err != nil {
			return nil, err
		}
	}
	for _, who := range t.Approvers {
		switch {
		case wrote == nil:
			v.ignore(who.String(), fmt.Sprintf("the commit merges more than %d commits", maxMerged))
		case len(commit.Parents) == 1:
			v.ignore(who.String(),
				"the commit is not a merge commit, so that its author wrote the message")
		case wrote.has(who):
			v.ignore(who.String(), "they wrote the commit, or one that it merged")
		default:
			record.Approvers = append(record.Approvers, who.String())
		}
	}
	sortLogins(record.Approvers)
	if len(record.Approvers) < r.config.RequireApprovals {
		return nil, refuse(o.Files, ReasonNotApproved,
			fmt.Sprintf("%d of %d required approvals in the message of commit %s", len(record.Approvers),
				r.config.RequireApprovals, o.Commit), v.hint())
	}
	return record, nil
}

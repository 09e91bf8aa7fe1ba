package notify

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/polex-dev/polex/internal/plain"
)

const (
	maxText     = 300 // characters of a value
	maxPolicies = 10  // in the list
)

// line is one line of a notification: a label and an untrusted value.
type line struct {
	label, value string
	address      bool // the value can be a link
}

// texts are the first line of a notification and a sentence for the end of a verified one.
var texts = map[Kind]struct{ title, remark string }{
	Signed:  {"Exception signed", ""},
	Refused: {"Exception refused", ""},
	Ending: {"Exception expires soon",
		"Fix the violation, or have a new exception approved before this one expires."},
	Ended: {"Exception ended", "It expired, and was removed from the signed folder."},
	Unused: {"Exception not used",
		"If nobody needs it any more, have it removed: polex-prune --unused proposes that."},
}

func (e Event) title() string {
	if n := len(e.Members); n > 0 {
		return fmt.Sprintf("%s: %d together", texts[e.Kind].title, n)
	}
	return texts[e.Kind].title
}

// remark returns a sentence for the end of a notification, or "".
func (e Event) remark() string {
	if !e.Verified {
		return "No signature covers this text: it is from the file or from a report."
	}
	return texts[e.Kind].remark
}

// lines returns the lines of a notification, with plain and shortened values.
func (e Event) lines() []line {
	var all []line
	add := func(label, value string) {
		if value != "" {
			all = append(all, line{label: label, value: short(value)})
		}
	}
	link := func(label, value string) {
		add(label, value)
		if address.MatchString(value) && len(value) <= maxText {
			all[len(all)-1].address = true
		}
	}
	if len(e.Members) > 0 {
		for _, m := range e.Members {
			add("Exception", m.brief())
		}
		link("Pull request", e.PullRequest)
		add("Commit", e.Commit)
		return all
	}
	add("Exception", e.Name())
	if e.Kind == Refused {
		add("Refused", e.Refusal)
		add("Because", e.Detail)
	}
	if e.Usage != nil {
		add("Usage", string(e.Usage.State)+": "+e.Usage.Text())
	}
	if e.Verified {
		add("Policies", e.policies())
		add("Reason", e.Reason)
		add("Ticket", e.Ticket)
		add("Owner", e.Owner)
		add("Requested by", e.RequestedBy)
		add("Approved by", e.ApprovedBy)
		until := "Until"
		if e.Kind == Ended {
			until = "Ended"
		}
		add(until, cmp.Or(plain.Time(e.ExpiresAt), "no expiry"))
		add("Signed", plain.Time(e.SignedAt))
		if e.LogIndex >= 0 {
			add("Log entry", strings.TrimSpace(fmt.Sprint(e.LogIndex)+" "+e.LogURL))
		}
		link("Pull request", e.PullRequest)
		link("Signed in", e.Run)
	}
	add("File", e.File)
	add("Commit", e.Commit)
	return all
}

// brief returns the text of an event in a summary.
func (e Event) brief() string {
	switch {
	case e.Kind == Refused:
		return e.Name() + ": " + e.Refusal
	case !e.ExpiresAt.IsZero():
		return e.Name() + ": " + plain.Time(e.ExpiresAt)
	default:
		return e.Name()
	}
}

// Name returns the name of the exception, or the file if it has none. For a summary it returns the
// number of exceptions.
func (e Event) Name() string {
	if n := len(e.Members); n > 0 {
		return fmt.Sprintf("%d exceptions", n)
	}
	if e.Identity.Name == "" {
		return e.File
	}
	return e.Identity.String()
}

func (e Event) policies() string {
	var names []string
	for _, p := range e.Policies[:min(len(e.Policies), maxPolicies)] {
		name := p.String()
		if len(p.Rules) > 0 {
			name += " (" + strings.Join(p.Rules, ", ") + ")"
		}
		names = append(names, name)
	}
	if more := len(e.Policies) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// address matches addresses that become links. It excludes characters with a meaning in Markdown,
// mrkdwn or HTML, and user names before the host.
var address = regexp.MustCompile(`^https://[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]{1,5})?(/[A-Za-z0-9._~-]+)*/?$`)

// short returns one line of printable characters, shortened if necessary.
func short(text string) string { return plain.Cut(plain.Line(text), maxText) }

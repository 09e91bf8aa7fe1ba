package guard

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"
	"unique"

	"github.com/polex-dev/polex/internal/plain"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/verify"
)

// Decision is the answer to one request.
type Decision struct {
	UID       string // of the request
	Operation string
	Object    exception.Identity // as the request names it
	User      string             // of the request
	DryRun    bool

	Reason string // stable; see the reasons of this package and of pkg/verify
	Detail string // for people; untrusted text is quoted
	Hint   string // the next step after a rejection
	Facts  Facts
}

// Allowed reports whether the request is allowed.
func (d *Decision) Allowed() bool { return reasonOf(d.Reason).allows }

// Code is the HTTP status that the API server returns to its client.
func (d *Decision) Code() int32 { return cmp.Or(reasonOf(d.Reason).code, http.StatusForbidden) }

// Authority returns the names of the authorities that signed the object, or "".
func (d *Decision) Authority() string {
	var names []string
	for _, s := range d.Facts.Signers {
		if s.Authority != "" {
			names = append(names, s.Authority)
		}
	}
	return strings.Join(names, ",")
}

// maxMessage is the maximum number of bytes of a message. Clients print messages, logs keep them,
// and an Event holds at most 1024 bytes.
const maxMessage = 1024

// Message is the answer in one line: the reason, the finding, the signer and a hint. It is safe to
// print.
func (d *Decision) Message() string {
	hint := ""
	if d.Hint != "" {
		hint = "; " + d.Hint
	}
	text := fmt.Sprintf("[%s] %s", d.Reason, d.Detail)
	if signer := d.signer(); signer != "" && !d.Allowed() {
		text += "; signed by " + signer
	}
	// The hint is never cut off.
	return escape(text, maxMessage-len(hint)) + hint
}

// Summary describes the decision in one line. For a rejection it is [Decision.Message]. For a
// verified object it names the signer, the signing time and the expiry.
func (d *Decision) Summary() string {
	switch {
	case d.Reason == ReasonDeleted:
		return escape("deleted by "+d.User, maxMessage)
	case d.Reason != ReasonVerified:
		return d.Message()
	}
	text := "signed by " + d.signer()
	if at := d.Facts.witnessed(); !at.IsZero() {
		text += " at " + timestamp(at)
	}
	if end := d.Facts.ExpiresAt; !end.IsZero() {
		text += ", until " + timestamp(end)
	}
	return escape(text, maxMessage)
}

// signer describes the signer of the first verified signature, and counts the others.
func (d *Decision) signer() string {
	if len(d.Facts.Signers) == 0 || d.Reason == verify.ReasonWrongIdentity {
		return ""
	}
	s := d.Facts.Signers[0]
	name := s.Subject
	if name == "" {
		name = "a key of the trust policy"
		if s.Authority != "" {
			name = fmt.Sprintf("the key %q", s.Authority)
		}
	}
	if more := len(d.Facts.Signers) - 1; more > 0 {
		name += fmt.Sprintf(" and %d more", more)
	}
	return name
}

// escape makes hostile text safe to print on one line of at most that many bytes.
func escape(text string, most int) string {
	const cut = " …"
	text = plain.Line(text[:min(len(text), most+utf8.UTFMax)]) // it gets no shorter
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len(cut)], "") + cut
}

// LogDecision logs a decision with its user, object and reason. It does not log the content of the
// object.
func LogDecision(log *slog.Logger, d *Decision, took time.Duration) {
	level := slog.LevelInfo
	if !d.Allowed() {
		level = slog.LevelWarn
	}
	log.LogAttrs(context.Background(), level, "decision",
		slog.String("uid", d.UID), slog.Bool("allowed", d.Allowed()), slog.String("reason", d.Reason),
		slog.String("operation", escape(d.Operation, maxLogged)),
		slog.String("object", escape(d.Object.String(), maxLogged)),
		slog.String("user", escape(d.User, maxLogged)), slog.Bool("dryRun", d.DryRun),
		slog.String("message", d.Message()), slog.String("authority", d.Authority()),
		slog.String("digest", d.Facts.MessageDigest),
		slog.Duration("took", took))
}

// maxLogged is the maximum number of bytes of a name in the log.
const maxLogged = 600

// Facts are the verified facts that an answer reports and that the controller keeps for a stored
// object. Certificates and log entries are not among them.
type Facts struct {
	MessageDigest string   // as in verify.Facts
	Signers       []Signer // in the order of the signatures
	// The message is valid from StartsAt until ExpiresAt; zero sets no limit.
	StartsAt, ExpiresAt time.Time
}

// Signer is the signer of one verified signature.
type Signer struct {
	Authority   string // of the trust policy; "": the signature belongs to none
	Subject     string // of the certificate; "" for a key
	WitnessedAt time.Time
}

// factsOf reduces verified facts to those that are kept. Thousands of exceptions have the same few
// signers, so each name is stored once.
func factsOf(verified verify.Facts) Facts {
	facts := Facts{MessageDigest: verified.MessageDigest, StartsAt: verified.StartsAt, ExpiresAt: verified.ExpiresAt}
	if n := len(verified.Signatures); n > 0 {
		facts.Signers = make([]Signer, n)
	}
	for i, s := range verified.Signatures {
		subject := unique.Make(s.Identity.Subject).Value()
		facts.Signers[i] = Signer{Authority: s.Authority, Subject: subject, WitnessedAt: s.WitnessedAt}
	}
	return facts
}

// witnessed returns the earliest log entry or timestamp of the authorities' signatures. It is zero
// if one of these signatures has neither.
func (f Facts) witnessed() time.Time {
	var earliest time.Time
	for _, s := range f.Signers {
		switch {
		case s.Authority == "":
		case s.WitnessedAt.IsZero():
			return time.Time{}
		case earliest.IsZero() || s.WitnessedAt.Before(earliest):
			earliest = s.WitnessedAt
		}
	}
	return earliest
}

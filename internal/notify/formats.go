package notify

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/ledger"
	"github.com/polex-dev/polex/internal/plain"
)

// Marker is the first, hidden line of [Markdown]. It names the exception and the kind of the event,
// so that an existing comment is found and updated.
func (e Event) Marker() string {
	return fmt.Sprintf("<!-- polex-notice v1 %s %s -->", e.Kind, e.subject())
}

// Markdown renders an event as a comment for GitHub.
func Markdown(e Event) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n**%s**\n\n", e.Marker(), e.title())
	for _, l := range e.lines() {
		value := code(l.value)
		if l.address {
			value = "<" + l.value + ">"
		}
		fmt.Fprintf(&b, "- %s: %s\n", l.label, value)
	}
	if remark := e.remark(); remark != "" {
		fmt.Fprintf(&b, "\n%s\n", remark)
	}
	return b.String()
}

// code quotes text so that nothing in it is Markdown: no link, no mention, no tag. The fence is
// longer than any fence in the text.
func code(text string) string {
	longest, run := 0, 0
	for _, r := range text {
		if run++; r != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", longest+1)
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return fence + text + fence
}

type jsonIdentity struct {
	Group     string `json:"group"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

type jsonLog struct {
	URL   string          `json:"url,omitempty"`
	Index ledger.LogIndex `json:"index"`
}

type jsonRefusal struct {
	Reason  string `json:"reason"`
	Message string `json:"message,omitempty"`
}

// JSON renders an event for programs, in version v1alpha1 of the form in docs/reference/audit.md. Texts are
// complete and as they were signed. They are escaped, so that they end no script and no line.
func JSON(e Event) ([]byte, error) {
	id, said := e.Identity, e
	if !e.Verified { // without unverified texts
		said = Event{Kind: e.Kind, Identity: id, LogIndex: -1, Commit: e.Commit, Refusal: e.Refusal, Detail: e.Detail,
			File: e.File}
	}
	out := struct {
		APIVersion string       `json:"apiVersion"`
		Kind       string       `json:"kind"`
		ID         string       `json:"id"`
		Exception  jsonIdentity `json:"exception"`
		Event
		Log     *jsonLog     `json:"log,omitempty"`
		Refusal *jsonRefusal `json:"refusal,omitempty"`
	}{APIVersion: "polex.dev/v1alpha1", Kind: "Notice", ID: e.ID(), Event: said,
		Exception: jsonIdentity{id.Group, id.Kind, id.Namespace, id.Name}}
	if out.LogIndex >= 0 {
		out.Log = &jsonLog{out.LogURL, out.LogIndex}
	}
	if e.Kind == Refused {
		out.Refusal = &jsonRefusal{e.Refusal, e.Detail}
	}
	return encode(out)
}

func encode(value any) ([]byte, error) {
	var b bytes.Buffer
	err := plain.WriteJSON(&b, value)
	return b.Bytes(), err
}

type object = map[string]any

// Slack renders an event for an incoming webhook.
func Slack(e Event) ([]byte, error) {
	const maxFields = 10 // Slack's limit for the fields of a section
	blocks := []object{{"type": "header", "text": object{"type": "plain_text", "text": e.title(), "emoji": false}}}
	for some := range slices.Chunk(e.lines(), maxFields) {
		var fields []object
		for _, l := range some {
			value := mrkdwn(l.value)
			if l.address {
				value = "<" + l.value + ">"
			}
			fields = append(fields, mrkdwnText("*"+l.label+"*\n"+value))
		}
		blocks = append(blocks, object{"type": "section", "fields": fields})
	}
	if remark := e.remark(); remark != "" {
		blocks = append(blocks, object{"type": "section", "text": mrkdwnText(remark)})
	}
	return encode(object{"text": e.title() + ": " + mrkdwn(short(e.Name())), "blocks": blocks})
}

// mrkdwnText disables Slack's search for addresses, names and channels.
func mrkdwnText(text string) object { return object{"type": "mrkdwn", "text": text, "verbatim": true} }

// mrkdwn quotes text so that nothing in it is Slack markup. A backtick cannot be escaped, so a
// similar character replaces it.
func mrkdwn(text string) string {
	return "`" + strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "`", "ˋ").Replace(text) + "`"
}

package notify

import (
	"slices"
	"strings"
)

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
func mrkdwnText(text string) object {
	return object{"type": "mrkdwn", "text": text, "verbatim": true}
}

// mrkdwn quotes text so that nothing in it is Slack markup. A backtick cannot be escaped, so a
// similar character replaces it.
func mrkdwn(text string) string {
	return "`" + strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "`", "ˋ").Replace(text) + "`"
}

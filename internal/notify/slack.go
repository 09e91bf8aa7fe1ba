package notify

import (
	"slices"
	"strings"
)

type object = map[string]any

// maxFields is how many fields Slack takes in one section.
const maxFields = 10

// Slack renders an event for an incoming webhook.
func Slack(e Event) ([]byte, error) {
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
	return encode(object{"text": e.title() + ": " + mrkdwn(plain(e.Name())), "blocks": blocks})
}

// mrkdwnText has Slack look for no addresses, names or channels by itself.
func mrkdwnText(text string) object {
	return object{"type": "mrkdwn", "text": text, "verbatim": true}
}

// mrkdwn is text in which nothing counts for Slack. Its code has no way to write
// a backtick, so that one becomes a letter that looks like it.
func mrkdwn(text string) string {
	return "`" + strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "`", "ˋ").Replace(text) + "`"
}

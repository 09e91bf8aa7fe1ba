package notify

import "strings"

// Teams renders an event for a webhook of Teams Workflows, as an Adaptive Card. Untrusted text is
// only in text runs, which do not interpret Markdown.
func Teams(e Event) ([]byte, error) {
	body := []object{{"type": "TextBlock", "text": e.title(), "size": "Medium", "weight": "Bolder", "wrap": true}}
	var links []object
	for _, l := range e.lines() {
		body = append(body, object{"type": "RichTextBlock", "inlines": []object{
			{"type": "TextRun", "text": l.label + ": ", "weight": "Bolder"},
			{"type": "TextRun", "text": run(l.value)},
		}})
		if l.address {
			links = append(links, object{"type": "Action.OpenUrl", "title": l.label, "url": l.value})
		}
	}
	if remark := e.remark(); remark != "" {
		body = append(body, object{"type": "TextBlock", "text": remark, "wrap": true})
	}
	card := object{"$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.2", "body": body}
	if len(links) > 0 {
		card["actions"] = links
	}
	return encode(object{"type": "message", "attachments": []object{
		{"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": nil, "content": card},
	}})
}

// run breaks texts that a card would interpret as a date, an expression or a mention.
func run(text string) string {
	return strings.NewReplacer("{{", "{ {", "${", "$ {", "<at>", "< at>").Replace(text)
}

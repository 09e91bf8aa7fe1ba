package notify

import (
	"fmt"
	"strings"
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

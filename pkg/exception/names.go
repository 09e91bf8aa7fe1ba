package exception

import "k8s.io/apimachinery/pkg/api/validate/content"

// IsQualifiedName reports whether a text has the form of a label's key, [prefix/]name. Selectors
// and named conditions use this form too.
func IsQualifiedName(text string) bool { return len(content.IsLabelKey(text)) == 0 }

// IsLabelValue reports whether a text is a valid value of a label; "" is valid.
func IsLabelValue(text string) bool { return len(content.IsLabelValue(text)) == 0 }

// Shortened shortens a value for a message, to 80 characters.
func Shortened(s string) string {
	const most = 80
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return s
}

package guard

import "regexp"

// firstUID is the beginning of a review. The API server writes request.uid as the first field of the
// request, before any text that a user chooses.
var firstUID = regexp.MustCompile(`^\s*\{(?:[^{}]|\{[^{}]*\})*"request"\s*:\s*\{\s*"uid"\s*:\s*"([^"\\]*)"`)

// uidOf finds request.uid in the beginning of a review, or returns "". The API server ignores an answer
// without it.
func uidOf(raw []byte) string {
	if match := firstUID.FindSubmatch(raw[:min(len(raw), prefix)]); match != nil {
		return string(match[1])
	}
	return ""
}

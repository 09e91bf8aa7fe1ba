package guard

import (
	"bytes"
	"encoding/json"
)

// uidOf finds request.uid in the beginning of a review, or returns "". The API server writes it
// first, and ignores an answer without it.
func uidOf(raw []byte) string {
	dec := json.NewDecoder(bytes.NewReader(raw[:min(len(raw), prefix)]))
	depth, within, key := 0, false, ""
	for {
		token, err := dec.Token()
		if err != nil {
			return ""
		}
		switch t := token.(type) {
		case json.Delim:
			if t == '{' || t == '[' {
				within = within || depth == 1 && key == "request"
				depth++
			} else {
				depth--
			}
			if t == '[' || depth > 2 {
				return "" // it would be before this
			}
			key = ""
		case string:
			switch {
			case key == "":
				key = t
				continue
			case within && depth == 2 && key == "uid":
				return t
			}
			key = ""
		default:
			key = ""
		}
	}
}

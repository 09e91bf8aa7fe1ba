package guard

import (
	"bytes"
	"encoding/json"
	"io"
)

// prefix is how much of a review is looked at to answer it without reading it:
// its uid is the first that the API server writes of a request.
const prefix = 4 << 10

// unread denies a review that there is no room to read.
func unread(body io.Reader, reason, detail string) *Decision {
	raw, _ := io.ReadAll(io.LimitReader(body, prefix))
	return denied(uidOf(raw), reason, detail)
}

// uidOf finds request.uid in what there is of a review, or returns "". An answer
// without it is none to the API server.
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
				return "" // beyond where it stands
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

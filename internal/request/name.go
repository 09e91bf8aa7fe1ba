package request

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

const (
	longestSlug = 24 // bytes per part of a name
	digestBytes = 5
)

// name returns the name of an exception: workload, policy or number of policies, and a digest of
// the exemption. The statements do not change it, so a request with a better reason has the same
// name.
func (e *exemption) name() (string, error) {
	c := e.causes[0]
	text, err := json.Marshal([]any{c.of[0].kind().Group, e.spec}) // with sorted keys
	if err != nil {
		return "", fmt.Errorf("name an exception: %w", err)
	}
	from := c.of[0].ref
	if n := len(e.policies()); n > 1 {
		from = fmt.Sprintf("%d-policies", n)
	}
	sum := sha256.Sum256(text)
	return slug(c.workload.Name) + "-" + slug(from) + "-" + hex.EncodeToString(sum[:digestBytes]), nil
}

// slug converts a name to a part of a DNS label.
func slug(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		default:
			return '-'
		}
	}, text)
	text = strings.Trim(text[:min(len(text), longestSlug)], "-")
	if text == "" {
		return "x"
	}
	return text
}

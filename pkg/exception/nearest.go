package exception

import (
	"fmt"
	"strings"
)

// longestName is the maximum length of an object's name. A longer text is not a misspelt name, and
// comparing it takes quadratic time.
const longestName = 253

// Nearest returns a hint with the candidate that is at most two edits away from a word, or "".
func Nearest(word string, candidates []string) string {
	if len(word) > longestName {
		return ""
	}
	best, distance := "", 3
	for _, candidate := range candidates {
		limit := min(distance, (len(candidate)+1)/2)
		if d := Edits(word, candidate, limit); d < limit {
			best, distance = candidate, d
		}
		if stem, plural := strings.CutSuffix(candidate, "ies"); plural && strings.EqualFold(word, stem+"y") {
			best, distance = candidate, 0
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %q?", best)
}

// Edits counts the insertions, deletions, substitutions and swaps of neighbours between two words,
// without letter case. It stops at limit.
func Edits(a, b string, limit int) int {
	if len(a) >= len(b)+limit || len(b) >= len(a)+limit {
		return limit
	}
	a, b = strings.ToLower(a), strings.ToLower(b)
	var before, row []int
	next := make([]int, len(b)+1)
	for j := range next {
		next[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, row, next = row, next, make([]int, len(b)+1)
		next[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			next[j] = min(next[j-1]+1, row[j]+1, row[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
		}
	}
	return min(next[len(b)], limit)
}

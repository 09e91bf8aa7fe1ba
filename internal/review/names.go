package review

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// The forms of values that are used in later requests or written into a signed document. Every
// source is checked.
var (
	loginForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,38}(\[bot\])?$`)
	hashForm  = regexp.MustCompile(`^(?:[0-9a-f]{40}|[0-9a-f]{64})$`)
)

// checkLogin rejects a string that is not a valid GitHub login.
func checkLogin(login string) error {
	if !loginForm.MatchString(login) {
		return &UnknownError{What: fmt.Sprintf("%q is not a login", login)}
	}
	return nil
}

// sortLogins sorts logins without regard to case.
func sortLogins(logins []string) {
	slices.SortFunc(logins, func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) })
}

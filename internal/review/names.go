package review

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// What is asked for next, and what is written into a signed document, has the
// form of what it should be, wherever it is from.
var (
	loginForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,38}(\[bot\])?$`)
	teamForm  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,38}/[A-Za-z0-9_-]{1,100}$`)
	hashForm  = regexp.MustCompile(`^(?:[0-9a-f]{40}|[0-9a-f]{64})$`)
)

// checkLogin refuses what GitHub would not take for a login.
func checkLogin(login string) error {
	if !loginForm.MatchString(login) {
		return &UnknownError{What: fmt.Sprintf("%q is no login", login)}
	}
	return nil
}

// sortLogins sorts logins as people look for them.
func sortLogins(logins []string) {
	slices.SortFunc(logins, func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) })
}

// containsLogin reports whether logins has one. GitHub tells no case apart.
func containsLogin(logins []string, login string) bool {
	return slices.ContainsFunc(logins, func(l string) bool { return strings.EqualFold(l, login) })
}

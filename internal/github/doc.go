// Package github reads from and writes to one repository with GitHub's API: reviews, comments,
// commits that GitHub signs, pull requests, and the rules of a branch. internal/restapi sends the
// requests.
package github

// Package github reads from and writes to one repository with GitHub's API: reviews, comments,
// commits that GitHub signs, pull requests, and the rules of a branch.
//
// It reads whole answers of at most 32 MiB. It retries after a failure, within the limits of
// internal/retry. It sends the token only to the API's host, and its errors contain neither the
// token nor an address.
package github

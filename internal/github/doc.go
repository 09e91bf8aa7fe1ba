// Package github asks GitHub's REST API about one repository, and writes to it.
//
// Answers are read whole, at most 32 MiB of each. A server that fails is asked again,
// within the bounds of internal/retry. The token is sent to the API's host and nowhere
// else, and errors show neither it nor an address.
package github

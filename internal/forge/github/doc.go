// Package github is GitHub as a forge.
//
// It sends JSON requests with a token. It reads whole answers of at most 32 MiB. It retries after a
// failure, within the limits of internal/retry. It sends the token only to the API's host, and its errors
// do not contain it.
package github

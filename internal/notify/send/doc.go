// Package send sends notices: to webhooks, and as comments of pull requests on
// GitHub.
//
//  1. What it sends to is reached by https, but for loopback. Nothing is followed to
//     another host.
//  2. Requests that failed for a while are sent again (internal/retry), and answers are bounded.
//  3. A webhook's address and a token are secrets. No error holds one, nor what a
//     webhook said, which may repeat it.
//  4. A comment is found again by its hidden marker, among those of one account alone,
//     for everybody could write the marker. It is changed where it differs, and left
//     alone where it does not. A webhook cannot be asked what it has, and is told at
//     least once.
package send

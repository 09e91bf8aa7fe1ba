// Package retry repeats failed requests, within limits.
//
// A [Transport] wraps the transport of an HTTP client:
//
//  1. It sends a request at most 4 times: again after an answer with 429 or 5xx, after an
//     incomplete or late answer, or after none.
//  2. Between two tries it waits up to 0.5, 1 and 2 seconds, in part at random, so that clients
//     that failed together do not retry together. It adds the time in Retry-After. If that is
//     more than a minute, it does not retry.
//  3. It reads the whole answer, up to a limit, before it returns. A longer answer is an error
//     without a retry. So is an untrusted TLS certificate.
//  4. A redirect is an error, or is returned if it stays on the same server.
//
// [Timing.Command] repeats a command, such as git fetch, in the same way.
//
// All other answers are returned unchanged to the caller.
package retry

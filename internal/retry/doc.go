// Package retry sends requests again that failed for a while, within bounds.
//
// A [Transport] stands between an HTTP client and what sends its requests:
//
//  1. A request is tried 4 times at most: again after an answer of 429 or 5xx, one
//     that is cut off, one that takes too long, or none.
//  2. Between two tries lie up to 0.5, 1 and 2 seconds, by chance, so that those
//     who failed together do not come back together, and the time that the server
//     asks for (Retry-After). One that asks for more than a minute is not asked
//     again.
//  3. An answer is read to its end, within a bound, before it is handed on. One
//     that is longer is an error, and is not asked for again; neither is a server
//     whose TLS certificate is not trusted.
//  4. A redirect is an error, or is handed on where it stays on the same server.
//
// Every other answer is handed on as it is: what it means is the caller's matter.
package retry

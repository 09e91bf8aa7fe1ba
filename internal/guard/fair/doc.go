// Package fair chooses which client loses a place when all places are taken. The client with most
// places loses the one that it has not used for the longest time. So a client that floods the guard
// displaces itself: it cannot displace the API server, whose address is another one.
package fair

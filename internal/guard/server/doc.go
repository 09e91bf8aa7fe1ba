// Package server is the HTTPS server that the API server asks. It bounds what clients
// can hold without a word of theirs being believed:
//
//   - so many connections, of which the one that has been quiet for longest gives way
//     to a new one
//   - so many HTTP/2 streams on each
//   - a time for the handshake, for a request to come, for its answer, and for a
//     connection without either
//   - so many bytes of headers
//
// Where the cluster offers a client certificate, [ClientCA] says which count.
package server

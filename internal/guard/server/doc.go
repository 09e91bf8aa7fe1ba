// Package server is the HTTPS server of the admission webhook. It limits the resources that a
// client can hold before it is authenticated:
//
//   - the number of connections; a new one closes the one that was idle for the longest time, of the
//     client with most connections
//   - the number of HTTP/2 streams on each connection
//   - the time for the handshake, a request, its answer and an idle connection
//   - the bytes of the headers
package server

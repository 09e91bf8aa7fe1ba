// Package doctor says what is wrong with how a guard is installed: what would let
// an exception past it, or keep it from doing what it is there for.
//
//  1. The webhook is registered for every version that is served, every namespace
//     and every object, and fails closed.
//  2. It answers with a certificate that the API server takes, now and for a while.
//  3. Nobody else is asked to change exceptions on their way to it.
//  4. Kyverno heeds exceptions, and not from everywhere.
//  5. The guard may do what it has to.
//  6. Its clock is that of the API server.
//
// It reads, asks what it may do, and changes nothing.
package doctor

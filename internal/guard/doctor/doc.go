// Package doctor checks the installation of a guard. It finds settings that let an exception pass
// the guard, or that stop the guard from working:
//
//  1. The webhook is registered for every served version, every namespace and every object,
//     and fails closed.
//  2. The API server accepts the certificate of the webhook, and it does not expire soon.
//  3. No other webhook or policy changes exceptions before the guard sees them.
//  4. Kyverno sees exceptions and applies them, but not from every namespace.
//  5. The guard has its permissions, a guard holds the Lease, and the API server accepts what the
//     guard writes.
//  6. Its clock agrees with that of the API server.
//
// The checks only read, ask for permissions and send dry runs. They change nothing.
package doctor

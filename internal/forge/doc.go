// Package forge describes a repository on a forge, the server of its pull requests, as small
// interfaces. Each forge implements all of them in its own folder below this one. Answers of a forge
// are untrusted: the callers check what depends on them.
package forge

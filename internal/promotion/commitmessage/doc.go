// Package commitmessage writes and reads the trailers in the commit messages of promotion and
// pruning. They name the source commit and the transparency log entries of signed, replaced and
// pruned files.
package commitmessage

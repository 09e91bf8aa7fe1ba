// Package commitmessage writes and reads the trailers in the messages of the commits that
// promote and prune: which commit was the source, and where the transparency log has what
// was signed, replaced or pruned.
package commitmessage

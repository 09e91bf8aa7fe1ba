// Package deliver has the destinations of a change of a repository. Promotion and pruning share
// them.
package deliver

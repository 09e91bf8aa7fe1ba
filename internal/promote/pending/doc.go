// Package pending holds the rules for the folder of pending exceptions: which
// files in it are requests, which of those may be promoted, and what of the
// signed folder is in their way. polex-sign applies them when it promotes, and
// polex-validate applies the same ones in the pull request: a file that only
// promotion rejects has been merged by then, and stops everybody's exceptions.
//
// It reads nothing itself. The caller says which files there are, with their
// modes as Git has them.
package pending

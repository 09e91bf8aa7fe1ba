// Package pending holds the rules for the folder of pending exceptions: which files are requests,
// which of them may be promoted, and which signed files prevent that.
//
// polex-sign applies the rules when it promotes, and polex-validate applies the same rules in the
// pull request. A file that only promotion rejects is merged by then, and blocks all other pending
// exceptions.
//
// The package does no I/O. The caller passes the files with their Git modes.
package pending

// Package actions tests the composite actions: their scripts, and that no text from a pull request
// becomes part of a script.
package actions

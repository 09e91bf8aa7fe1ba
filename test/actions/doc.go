// Package actions tests the composite actions: the scripts that they run, and
// that nothing a pull request says becomes part of one.
package actions

package shape

// Checks are those that docs/checks.md is made of.
var Checks = checks

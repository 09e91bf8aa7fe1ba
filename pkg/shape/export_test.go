package shape

// Checks are those that docs/reference/checks.md is made of.
var Checks = checks

package shape

// Checks are the checks in docs/reference/checks.md.
var Checks = checks

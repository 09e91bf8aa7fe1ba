package shape

// Checks are the checks in docs/reference/reasons.md.
var Checks = checks

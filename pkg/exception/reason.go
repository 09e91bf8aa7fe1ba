package exception

// Reason is a stable word for a result, in kebab-case, with its documentation. Text,
// JSON, SARIF, admission messages, metric labels and the documentation use the same
// word, and a reason never changes its meaning.
type Reason struct {
	Name, Doc string
	// Severity is that of the findings, unless the configuration sets another.
	Severity Severity
	// Milder says that some of the findings are warnings although Severity is
	// [SeverityError].
	Milder bool
	// Fixed says that no configuration turns the check off or makes it a warning: the
	// exception could not be signed or applied, or would reach its guard.
	Fixed bool
}

// Severity says whether a result rejects a document.
type Severity int

// The severities. The zero value rejects.
const (
	SeverityError Severity = iota
	SeverityWarning
	SeverityNote // the result of a document that passed
)

// String returns "error", "warning" or "note".
func (s Severity) String() string {
	switch s {
	case SeverityWarning:
		return "warning"
	case SeverityNote:
		return "note"
	default:
		return "error"
	}
}

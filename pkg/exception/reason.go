package exception

// Reason is the stable name of a result, in kebab-case, with its documentation. Text, JSON, SARIF,
// admission messages, metric labels and the documentation use the same name. A reason never changes
// its meaning.
type Reason struct {
	Name, Doc string
	// Severity is the severity of the findings, unless the configuration sets another.
	Severity Severity
	// Milder means that some findings are warnings although Severity is [SeverityError].
	Milder bool
	// Fixed means that no configuration can disable the check or make it a warning. Such an
	// exception could not be signed or applied, or would reach the guard.
	Fixed bool
}

// Severity tells whether a result rejects a document.
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

package shape

import "fmt"

const reasonBeyondLimits = "beyond-limits"

var limitsCheck = check{
	Title: "Limits of authorities",
	About: "Finds an exception beyond the `limits` of every authority.",
	Reasons: []Reason{{Name: reasonBeyondLimits, Doc: "no authority of the trust policy may sign the exception",
		Fixed: true}},
	Run: func(s *subject) {
		scope, excess := s.config.Rules.ScopeOf(s.Doc), ""
		for _, a := range s.config.Rules.Authorities {
			beyond := a.Limits.Exceeded(scope)
			if beyond == "" {
				return
			}
			if excess == "" {
				excess = fmt.Sprintf("%q may not sign it: %s", a.Name, beyond)
			}
		}
		if excess != "" {
			s.find(reasonBeyondLimits, s.ScopePath, "narrow the exception, or change the limits of the trust policy",
				"%s", excess)
		}
	},
}

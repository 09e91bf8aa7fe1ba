package request

// The reasons why no exception is drafted for a violation.
const (
	ReasonBadName       = "bad-name"
	ReasonUnknownPolicy = "unknown-policy"
	ReasonUnknownRule   = "unknown-rule"
	ReasonPolicyNeeded  = "policy-needed"
	ReasonObjectNeeded  = "manifest-needed"
	ReasonSubresource   = "subresource"
	ReasonNoHome        = "no-namespace"
	ReasonNotAReport    = "not-a-report"
	ReasonTooMany       = "too-many"
	ReasonNotRenewable  = "not-renewable"
)

// Reason is the stable name of a problem, with a line about it.
type Reason struct{ Name, Doc string }

// Reasons lists every reason that a [Problem] can have.
func Reasons() []Reason {
	return []Reason{
		{ReasonBadName, "the source says something that is no name of its kind"},
		{ReasonUnknownPolicy, "there is no such policy among those given"},
		{ReasonUnknownRule, "the policy has no such rule"},
		{ReasonPolicyNeeded, "the source does not say enough of the policy, and the policies are not given"},
		{ReasonObjectNeeded, "the source does not say enough of the resource, and its manifest is not given"},
		{ReasonSubresource, "the request was for a part of an object, and the source does not say of which kind"},
		{ReasonNoHome, "it is not said which namespace the exception is to live in"},
		{ReasonNotAReport, "the document is no report of policies"},
		{ReasonTooMany, "there are more violations than are taken in at once"},
		{ReasonNotRenewable, "the exception cannot be renewed as it is"},
	}
}

package request

import "github.com/polex-dev/polex/pkg/exception"

// The reasons for a violation without a draft.
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

// Reasons lists every reason of a [Problem].
func Reasons() []exception.Reason {
	return []exception.Reason{
		{Name: ReasonBadName, Doc: "a name in the source is invalid"},
		{Name: ReasonUnknownPolicy, Doc: "there is no such policy among those given"},
		{Name: ReasonUnknownRule, Doc: "the policy has no such rule"},
		{Name: ReasonPolicyNeeded, Doc: "the source does not say enough of the policy, and the policies are not given"},
		{Name: ReasonObjectNeeded,
			Doc: "the source does not say enough of the resource, and its manifest is not given"},
		{Name: ReasonSubresource,
			Doc: "the request was for a part of an object, and the source does not say of which kind"},
		{Name: ReasonNoHome, Doc: "it is not said which namespace the exception is to live in"},
		{Name: ReasonNotAReport, Doc: "the document is not a policy report"},
		{Name: ReasonTooMany, Doc: "there are more violations than are taken in at once"},
		{Name: ReasonNotRenewable, Doc: "the exception cannot be renewed as it is"},
	}
}

package shape

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
	"github.com/polex-dev/polex/pkg/trust/policyfile"
)

// Reasons of findings.
const (
	ReasonBadLifetime      = "bad-lifetime"
	ReasonClaimsReview     = "claims-review"
	ReasonExpired          = "expired"
	ReasonMissingReason    = "missing-reason"
	ReasonNoExpiry         = "no-expiry"
	reasonBadCategory      = "bad-category"
	reasonBadCluster       = "bad-cluster"
	reasonBadRenewal       = "bad-renewal"
	reasonContradiction    = "contradiction"
	reasonLifetimeTooLong  = "lifetime-too-long"
	reasonMissingCategory  = "missing-category"
	reasonMissingOwner     = "missing-owner"
	reasonMissingTicket    = "missing-ticket"
	reasonSignaturePresent = "signature-present"
	reasonTooManyRenewals  = "too-many-renewals"
)

// The categories of an exception, the values of polex.dev/category.
const (
	CategoryWaiver    = "waiver"    // the risk is accepted
	CategoryMitigated = "mitigated" // something else takes care of it
)

var statementsCheck = check{
	Title: "Reason, ticket, owner and category",
	About: "Finds an exception that lacks a statement of `shape.require` (reason, ticket, owner or category), or " +
		"that states one of them in two places with different values. [Lifetime](#lifetime) covers two expiries.",
	Reasons: []Reason{{Name: ReasonMissingReason, Doc: "the exception states no reason"},
		{Name: reasonMissingTicket, Doc: "the exception states no ticket"},
		{Name: reasonMissingOwner, Doc: "the exception states no owner"},
		{Name: reasonMissingCategory, Doc: "the exception states no category (waiver or mitigated)"},
		{Name: reasonBadCategory, Doc: "the category is neither waiver nor mitigated"},
		{Name: reasonContradiction, Doc: "a field and an annotation state different values", Fixed: true}},
	Run: func(s *subject) {
		required := map[string]struct {
			statement       exception.Statement
			reason, example string
		}{
			RequireReason: {s.Stated.Reason, ReasonMissingReason, exception.AnnotationReason +
				": the vendor's image has no health endpoint"},
			RequireTicket: {s.Stated.Ticket, reasonMissingTicket, exception.AnnotationTicket + ": SEC-123"},
			RequireOwner:  {s.Stated.Owner, reasonMissingOwner, exception.AnnotationOwner + ": team-a@example.com"},
			RequireCategory: {s.Stated.Category, reasonMissingCategory, exception.AnnotationCategory +
				": waiver (the risk is accepted) or mitigated"},
		}
		names := s.config.Require
		if s.renews() {
			names = slices.Compact(slices.Sorted(slices.Values(slices.Concat(names, s.config.Rules.Renewals.Require))))
		}
		for _, what := range names {
			if r := required[what]; strings.TrimSpace(r.statement.Text) == "" {
				setting := "shape.require"
				if !slices.Contains(s.config.Require, what) {
					setting = "trust.renewals.require"
				}
				s.find(r.reason, exception.Path{"metadata", "annotations"},
					"add the annotation, e.g. "+r.example, "the exception states no %s (%s)", what, setting)
			}
		}
		if c := s.Stated.Category; c.Text != "" && c.Text != CategoryWaiver && c.Text != CategoryMitigated {
			s.find(reasonBadCategory, c.Path, "write waiver if the risk is accepted, or mitigated if another control "+
				"covers it", "the category %q is neither %s nor %s", c.Text, CategoryWaiver, CategoryMitigated)
		}
		for _, c := range s.Stated.Conflicts {
			s.find(reasonContradiction, c.Annotation.Path, "keep one of the two", "%s is %q, but %s is %q",
				c.Annotation.Path, c.Annotation.Text, c.Native.Path, c.Native.Text)
		}
	},
}

var renewalCheck = check{
	Title: "Renewals",
	About: "Finds an exception that is renewed more often than `trust.renewals.max` allows, or that names its " +
		"predecessor incorrectly. This check reads the number of renewals from the annotation. `polex-sign " +
		"promote` compares it with the signed predecessor. It does not sign a renewal that names another " +
		"message, skips a number or exempts something else.",
	Reasons: []Reason{{Name: reasonBadRenewal, Doc: "the annotations that name the predecessor are invalid",
		Fixed: true}, {Name: reasonTooManyRenewals, Doc: "the exception has more renewals in a row than allowed"}},
	Run: func(s *subject) {
		stated, err := s.Stated.Renewal()
		if err != nil {
			at := s.Stated.Renews.Path
			if s.Stated.Renews.Text == "" {
				at = s.Stated.RenewalNumber.Path
			}
			s.find(reasonBadRenewal, at, "run polex-request --renew, which writes "+exception.AnnotationRenews+" and "+
				exception.AnnotationRenewal, "%s", err.Error())
			return
		}
		if most := s.config.Rules.Renewals.Max; most > 0 && stated.Number > most {
			s.find(reasonTooManyRenewals, s.Stated.RenewalNumber.Path,
				"fix the resource, or request a new exception with polex-request",
				"this is renewal %d in a row, and the maximum is %d (trust.renewals.max)", stated.Number, most)
		}
	},
}

// renews reports whether the exception states that it renews another one.
func (s *subject) renews() bool {
	return s.Stated.Renews.Text != "" || s.Stated.RenewalNumber.Text != ""
}

var signaturePresentCheck = check{
	About: "Finds the annotations of a signature. Either a signed file is in the wrong folder, or somebody copied " +
		"the annotations to make a draft look approved.",
	Reasons: []Reason{{Name: reasonSignaturePresent, Doc: "the document has the annotations of a signature",
		Fixed: true}},
	Run: func(s *subject) {
		keys := manifest.SignatureKeys(s.Doc)
		if len(keys) == 0 {
			return
		}
		s.find(reasonSignaturePresent, exception.Path{"metadata", "annotations", keys[0]},
			"remove the annotations under "+manifest.SignaturePrefix+"; to check a signed exception, use polex-verify",
			"the annotation %q is part of a signature, and only a signed exception may have it", keys[0])
	},
}

var claimsReviewCheck = check{
	About: "Finds a request that states its own requester, approvers or pull request. polex records them when it " +
		"signs. Where `polex-sign promote` makes a record, it refuses such a request, and all others with it.\n\n" +
		"polex-validate reports an error if the configuration requires approvals or `promote.record` always makes " +
		"a record. It reports nothing if `promote.record` is `none`, and a warning otherwise.",
	Reasons: []Reason{{Name: ReasonClaimsReview,
		Doc: "the request states its requester, approvers or pull request itself", Severity: Warning}},
	Run: func(s *subject) {
		if len(manifest.SignatureKeys(s.Doc)) > 0 {
			return // which is where a record belongs
		}
		for _, path := range exception.RecordPaths(s.Doc.GroupKind()) {
			if _, exists := s.Doc.Lookup(path...); exists {
				s.find(ReasonClaimsReview, path, "remove it: polex records it when it signs the exception",
					"a request must not state %s", path)
			}
		}
	},
}

// clusterForm matches a name or a pattern of clusters, also one like an ARN.
var clusterForm = regexp.MustCompile(`^[A-Za-z0-9*?]([A-Za-z0-9.:/@_*?-]*[A-Za-z0-9*?])?$`)

var unknownAnnotationCheck = check{
	Title: "Annotations of polex",
	About: "Finds an annotation or label under `polex.dev/` that polex does not define, such as " +
		"`polex.dev/expire-at`, one under a similar domain, and a limit among the properties. Reviewers " +
		"believe it, and polex ignores it.",
	Reasons: []Reason{manifest.UnknownAnnotation, {Name: reasonBadCluster,
		Doc: "`polex.dev/cluster` is no list of names and patterns, with commas between them"}},
	Run: func(s *subject) {
		own := slices.Concat(s.config.Statements.All(), s.config.Rules.Terms.Keys)
		for _, key := range manifest.UnknownKeys(s.Doc, own) {
			s.find(manifest.UnknownAnnotation.Name, key.Path, key.Hint, "%s", key.Message)
		}
		path := exception.Path{"metadata", "annotations", exception.AnnotationCluster}
		value, stated := s.Doc.Lookup(path...)
		names := s.Doc.Clusters()
		if len(names) == 0 && stated {
			names = []string{""}
		}
		for _, name := range names {
			if !clusterForm.MatchString(name) || strings.Contains(name, ".*") { // a regular expression
				s.find(reasonBadCluster, path, "write names and patterns with commas between them, such as prod-*, "+
					"test-1", "%q is not the name of a cluster, in %q", name, fmt.Sprint(value))
				return
			}
		}
	},
}

var lifetimeCheck = check{
	Title: "Lifetime",
	About: "Finds an exception without an expiry, with an invalid expiry, with one that has passed, or with a " +
		"lifetime above the maximum. A duration counts from the signing, so polex compares the whole duration " +
		"with the maximum.",
	Reasons: []Reason{{Name: ReasonNoExpiry, Doc: "the exception has no expiry"},
		{Name: ReasonBadLifetime, Doc: "a time or duration of the exception is invalid or contradicts another",
			Fixed: true}, {Name: ReasonExpired, Doc: "the exception has expired", Fixed: true},
		{Name: reasonLifetimeTooLong, Doc: "the lifetime exceeds the maximum"}},
	Run: func(s *subject) {
		life, err := lifetime.Of(s.Doc, s.config.Rules.Terms)
		if err != nil {
			var bad *lifetime.Error
			if !errors.As(err, &bad) {
				bad = &lifetime.Error{Path: exception.Path{"metadata"}, Message: err.Error()}
			}
			s.find(ReasonBadLifetime, bad.Path, bad.Hint, "%s", bad.Message)
			return
		}
		if s.Stated.SignedAt.Text != "" && len(manifest.SignatureKeys(s.Doc)) == 0 {
			s.find(ReasonBadLifetime, s.Stated.SignedAt.Path, "remove the annotation: polex-sign writes it",
				"the exception states when it was signed, but has no signature")
			return
		}
		at, in := !life.ExpiresAt.IsZero(), life.ExpiresIn != 0
		if at && in && len(manifest.SignatureKeys(s.Doc)) == 0 {
			s.find(ReasonBadLifetime, s.Stated.ExpiresIn.Path, "keep one of the two",
				"the exception states two expiries: in %s and at %s", s.Stated.ExpiresIn.Text, life.End.Text)
			return
		}
		most := s.config.Rules.MaxLifetime(s.config.Rules.ScopeOf(s.Doc))
		switch limit := most.Duration; {
		case !at && !in:
			if !s.config.Rules.Unbounded || most.Ends {
				s.find(ReasonNoExpiry, exception.Path{"metadata", "annotations"}, "add the annotation "+
					exception.AnnotationExpiresIn+
					": 7d, which counts from the signing; or list it in the trust policy "+
					"under grandfathered, with a time and the digest "+lifetime.ContentDigest(s.Doc),
					"the exception has no expiry")
			}
		case at && !life.ExpiresAt.After(s.now):
			s.find(ReasonExpired, life.End.Path, "remove it, or request it again with polex-request",
				"the exception expired at %s", life.End.Text)
		case limit > 0 && at && life.ExpiresAt.Sub(s.now) > limit:
			s.tooLong(life.End.Path, "the expiry "+life.End.Text+" is "+
				lifetime.FormatDuration(life.ExpiresAt.Sub(s.now))+" away, which", most)
		case in && !life.StartsAt.Before(s.now.Add(life.ExpiresIn)):
			s.find(ReasonBadLifetime, s.Stated.StartsAt.Path, "write the end as "+exception.AnnotationExpiresAt+
				", or an earlier start", "signed now, it would have expired before it starts")
		case limit > 0 && life.ExpiresIn > limit:
			s.tooLong(s.Stated.ExpiresIn.Path, exception.AnnotationExpiresIn+" "+s.Stated.ExpiresIn.Text, most)
		}
	},
}

func (s *subject) tooLong(path exception.Path, stated string, most policyfile.Maximum) {
	s.find(reasonLifetimeTooLong, path, "write a shorter lifetime; polex-request --renew extends the exception later",
		"%s exceeds the maximum of %s (trust: %s)", stated, lifetime.FormatDuration(most.Duration), most.Setting)
}

package shape

import (
	"errors"
	"fmt"

	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
	"github.com/polex-dev/polex/pkg/trust/policyfile"
)

// Reasons of findings.
const (
	ReasonNoExpiry        = "no-expiry"
	ReasonBadLifetime     = "bad-lifetime"
	ReasonExpired         = "expired"
	reasonLifetimeTooLong = "lifetime-too-long"
)

var lifetimeCheck = check{
	Title: "Lifetime",
	About: "Finds an exception without an expiry, with an invalid expiry, with one that has passed, or with a " +
		"lifetime above the maximum. A duration counts from the signing, so polex compares the whole duration " +
		"with the maximum.",
	Reasons: []Reason{
		{Name: ReasonNoExpiry, Doc: "the exception has no expiry"},
		{Name: ReasonBadLifetime, Doc: "a time or duration of the exception is invalid or contradicts another",
			Fixed: true},
		{Name: ReasonExpired, Doc: "the exception has expired", Fixed: true},
		{Name: reasonLifetimeTooLong, Doc: "the lifetime exceeds the maximum"},
	},
	Run: (*subject).lifetime,
}

func (s *subject) lifetime() {
	life, err := lifetime.Of(s.Doc, s.config.Rules.Terms)
	if err != nil {
		var bad *lifetime.Error
		if !errors.As(err, &bad) {
			bad = &lifetime.Error{Path: exception.Path{"metadata"}, Message: err.Error()}
		}
		s.find(ReasonBadLifetime, bad.Path, bad.Message, bad.Hint)
		return
	}
	if s.Stated.SignedAt.Text != "" && len(manifest.SignatureKeys(s.Doc)) == 0 {
		s.find(ReasonBadLifetime, s.Stated.SignedAt.Path,
			"the exception states when it was signed, but has no signature",
			"remove the annotation: polex-sign writes it")
		return
	}
	at, in := !life.ExpiresAt.IsZero(), life.ExpiresIn != 0
	if at && in && len(manifest.SignatureKeys(s.Doc)) == 0 {
		s.find(ReasonBadLifetime, s.Stated.ExpiresIn.Path,
			fmt.Sprintf("the exception states two expiries: in %s and at %s", s.Stated.ExpiresIn.Text, life.End.Text),
			"keep one of the two")
		return
	}
	most := s.config.Rules.MaxLifetime(s.config.Rules.ScopeOf(s.Doc))
	switch limit := most.Duration; {
	case !at && !in:
		if !s.config.Rules.Unbounded || most.Ends {
			s.noExpiry()
		}
	case at && !life.ExpiresAt.After(s.now):
		s.find(ReasonExpired, life.End.Path, fmt.Sprintf("the exception expired at %s", life.End.Text),
			"remove it, or request it again with polex-request")
	case limit > 0 && at && life.ExpiresAt.Sub(s.now) > limit:
		s.tooLong(life.End.Path,
			"the expiry "+life.End.Text+" is "+lifetime.FormatDuration(life.ExpiresAt.Sub(s.now))+" away, which", most)
	case in && !life.StartsAt.Before(s.now.Add(life.ExpiresIn)):
		s.find(ReasonBadLifetime, s.Stated.StartsAt.Path, "signed now, it would have expired before it starts",
			"write the end as "+exception.AnnotationExpiresAt+", or an earlier start")
	case limit > 0 && life.ExpiresIn > limit:
		s.tooLong(s.Stated.ExpiresIn.Path, exception.AnnotationExpiresIn+" "+s.Stated.ExpiresIn.Text, most)
	}
}

func (s *subject) noExpiry() {
	path := exception.Path{"metadata", "annotations"}
	s.find(ReasonNoExpiry, path, "the exception has no expiry",
		"add the annotation "+exception.AnnotationExpiresIn+
			": 7d, which counts from the signing; or list it in the trust policy under grandfathered, with a time "+
			"and the digest "+lifetime.ContentDigest(s.Doc))
}

func (s *subject) tooLong(path exception.Path, stated string, most policyfile.Maximum) {
	s.find(reasonLifetimeTooLong, path,
		fmt.Sprintf("%s exceeds the maximum of %s (trust: %s)", stated, lifetime.FormatDuration(most.Duration),
			most.Setting),
		"write a shorter lifetime; polex-request --renew extends the exception later")
}

package shape

import (
	"fmt"
	"time"

	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape/internal/draft"
)

// ReasonWildcardImage is a reason of findings.
const ReasonWildcardImage = "wildcard-image"

var wildcardImageCheck = check{
	Title: "Wildcard image",
	About: `Finds an image or an allowed value that fits anything. In podSecurity, where it takes in
every container of resources that are named otherwise, it is a warning.`,
	Reasons: []Reason{
		{ReasonWildcardImage, "an image or an allowed value stands for anything", false},
	},
	Run: (*subject).wildcardImage,
}

func (s *subject) wildcardImage(time.Time) {
	spec := s.Spec()
	if s.Exc.Identity.Group == exception.PoliciesGroup {
		for _, field := range []string{"images", "allowedValues"} {
			for _, p := range draft.TextsOf(spec[field], exception.Path{"spec", field}) {
				if wildcard.Only(p.Text) {
					s.refuse(ReasonWildcardImage, p.Path, fmt.Sprintf("%q stands for anything", p.Text), "say which of them are needed")
				}
			}
		}
		return
	}
	controls, _ := spec["podSecurity"].([]any)
	for i, item := range controls {
		control, _ := item.(map[string]any)
		for _, p := range draft.TextsOf(control["images"], exception.Path{"spec", "podSecurity", i, "images"}) {
			if wildcard.Only(p.Text) {
				s.warn(ReasonWildcardImage, p.Path, fmt.Sprintf("%q stands for every image, also for those still to come", p.Text), "say which images need it")
			}
		}
	}
}

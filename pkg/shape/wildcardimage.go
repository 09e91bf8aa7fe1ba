package shape

import (
	"fmt"
	"slices"

	"github.com/polex-dev/polex/internal/kyverno/wildcard"
)

const reasonWildcardImage = "wildcard-image"

var wildcardImageCheck = check{
	About: "Finds an image or an allowed value that matches everything. In `podSecurity` it is a warning: there it " +
		"covers every container, but only of the resources that the match selects.",
	Reasons: []Reason{{Name: reasonWildcardImage, Doc: "an image or an allowed value matches everything",
		Milder: true}},
	Run: (*subject).wildcardImage,
}

func (s *subject) wildcardImage() {
	for _, p := range slices.Concat(s.Images, s.AllowedValues) {
		if wildcard.Only(p.Text) {
			s.find(reasonWildcardImage, p.Path, fmt.Sprintf("%q matches everything", p.Text),
				"list the images or values that are needed")
		}
	}
	for _, control := range s.PodSecurity {
		for _, p := range control.Images {
			if wildcard.Only(p.Text) {
				s.warn(reasonWildcardImage, p.Path, fmt.Sprintf("%q matches every image, including future ones",
					p.Text), "list the images that need the exception")
			}
		}
	}
}

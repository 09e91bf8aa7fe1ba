package shapeconfig

import (
	"github.com/polex-dev/polex/internal/config"
	"github.com/polex-dev/polex/pkg/shape"
)

// WeighClaims sets the level of the check for record fields in a request, before it is signed. It
// matches the later decision of polex-sign with the section promote. A configured level stays.
func WeighClaims(p config.Promote, c *shape.Config) {
	if c.Checks[shape.ReasonClaimsReview] != "" {
		return
	}
	level := shape.LevelError
	switch {
	case p.RequireApprovals > 0 || c.Rules.Renewals.Review():
	case p.Record == "" || p.Record == config.RecordAuto:
		level = shape.LevelWarning // it depends on the place of the signing
	case p.Record == config.RecordNone:
		level = shape.LevelOff
	}
	c.Checks[shape.ReasonClaimsReview] = level
}

// LeaveClaims disables that check, because the recorder does it at the signing and would report it
// again.
func LeaveClaims(c *shape.Config) {
	if c.Checks[shape.ReasonClaimsReview] == "" {
		c.Checks[shape.ReasonClaimsReview] = shape.LevelOff
	}
}

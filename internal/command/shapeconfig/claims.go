package shapeconfig

import (
	"github.com/polex-dev/polex/internal/config"
	"github.com/polex-dev/polex/pkg/shape"
)

// WeighClaims has a request's own word on its review weigh, before it is signed, what
// signing will make of it by the section promote. Levels that are set stay.
func WeighClaims(p config.Promote, c *shape.Config) {
	if c.Levels[shape.ReasonClaimsReview] != "" {
		return
	}
	level := shape.LevelError
	switch {
	case p.AsksApprovals():
	case p.Record == "" || p.Record == config.RecordAuto:
		level = shape.LevelWarning // it depends on where it is signed
	case p.Record == config.RecordNone:
		level = shape.LevelOff
	}
	c.Levels[shape.ReasonClaimsReview] = level
}

// LeaveClaims leaves that word to whoever makes the record, which says it once and by
// where it is signed.
func LeaveClaims(c *shape.Config) {
	if c.Levels[shape.ReasonClaimsReview] == "" {
		c.Levels[shape.ReasonClaimsReview] = shape.LevelOff
	}
}

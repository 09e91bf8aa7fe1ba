package shape

import (
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape/internal/draft"
)

// Check returns what is wrong with one document at a time, sorted by position.
// Nothing wrong is nil. A document that is not a PolicyException has that one
// finding.
func (c *Checker) Check(d *exception.Document, now time.Time) []Finding {
	s := &subject{config: &c.config, guard: c.guard, engine: c.engine, Draft: &draft.Draft{Doc: d}, counts: map[string]int{}, rules: c.rules, language: c.language}
	exc, ok := d.Exception()
	if !ok {
		s.notAnException()
		return s.found
	}
	s.Draft = draft.New(d, exc)
	for _, c := range checks {
		if c.Run != nil {
			c.Run(s, now)
		}
	}
	s.customRules()
	return sorted(s.found)
}

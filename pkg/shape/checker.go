package shape

import (
	"time"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/pkg/exception"
)

// Check returns the findings of one document, sorted by position, or nil. A document
// that is not a PolicyException has that one finding.
func (c *Checker) Check(d *exception.Document, now time.Time) []Finding {
	s := &subject{config: &c.config, guard: c.guard, release: c.release, Doc: d, now: now, severities: c.severities, counts: map[string]int{}, language: c.language}
	if s.Said, s.Exception = read(d); s.Said == nil {
		s.notAnException()
		return s.found
	}
	c.config.Statements.Fill(s.Said, d)
	for _, c := range checks {
		if c.Run != nil {
			c.Run(s)
		}
	}
	return sorted(s.found)
}

// read returns the statements of an exception and its scope, or nil.
func read(d *exception.Document) (*exception.Exception, *kyverno.Exception) {
	said, _ := d.Exception()
	return said, kyverno.Read(d)
}

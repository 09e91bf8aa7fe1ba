package sign

import (
	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/shapeconfig"
	"github.com/polex-dev/polex/internal/promote"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
)

// refuseOverlaps puts on the report what exempts the same as an exception that is
// signed and has not ended, without saying that it renews it: somebody who would escape
// what is asked of a renewal asks for the same under a fresh name. It is for those who
// have shape.checks refuse overlaps; a warning is for the pull request.
func (p *promotion) refuseOverlaps(plan *promote.Plan) error {
	if p.overlaps != shape.LevelError {
		return nil
	}
	set := shape.Set{Thorough: true}
	var err error
	set.Live(func(yield func(*exception.Document) bool) {
		more := true
		err = plan.Live(func(doc *exception.Document) { more = more && yield(doc) })
	}, p.now)
	if err != nil {
		return err
	}
	for _, doc := range plan.Documents() {
		for _, result := range shapeconfig.Results(doc, p.checker.Weigh(set.Add(doc))) {
			if result.Outcome == cli.Refuse {
				p.report.Add(result)
			}
		}
	}
	return nil
}

package adopt

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
	"github.com/polex-dev/polex/pkg/shape"
)

// judge runs the shape checks on the documents to sign. It refuses an exception for a finding that
// no configuration can change, or that an existing configuration treats as an error. If adopt
// writes the configuration, other reasons become warnings there.
func (r *repository) judge(plan *Plan, all []*candidate,
	documents map[string]*exception.Document) (adopted []*candidate, err error) {
	config := r.options.Shape
	config.Checks = maps.Clone(config.Checks)
	if config.Checks == nil {
		config.Checks = map[string]shape.Level{}
	}
	longest := r.longest(all)
	if !r.options.Configured {
		config.Rules.Longest = longest
	}
	checker, err := shape.New(config)
	if err != nil {
		return nil, err
	}
	fixed := map[string]bool{}
	for _, reason := range shape.Reasons() {
		// A warning would hide deceptive text from the reviewer.
		fixed[reason.Name] = reason.Fixed ||
			slices.Contains([]string{"hidden-character", "look-alike", "unknown-annotation"}, reason.Name)
	}
	set := shape.Set{Terms: r.options.Shape.Rules.Terms}
	found := make([][]shape.Finding, len(all))
	for i, c := range all {
		found[i] = slices.Concat(checker.Check(documents[c.To], r.options.Now), checker.Weigh(set.Add(documents[c.To])))
	}
	eased := map[string]int{} // number of adopted exceptions that a reason would reject
	for i, c := range all {
		refused := map[string]bool{}
		bad := slices.IndexFunc(found[i], func(f shape.Finding) bool {
			refused[f.Reason] = refused[f.Reason] || f.Severity == shape.Error
			return f.Severity == shape.Error && fixed[f.Reason]
		})
		if bad < 0 && r.options.Configured {
			bad = slices.IndexFunc(found[i], func(f shape.Finding) bool { return f.Severity == shape.Error })
		}
		if bad < 0 {
			adopted = append(adopted, c)
			for reason, is := range refused {
				if is {
					eased[reason]++
				}
			}
			continue
		}
		f := found[i][bad]
		hint := f.Hint
		if f.Reason == "lifetime-too-long" {
			hint = "polex adopt does not change the configuration; raise trust.maxLifetime there, or lower " +
				"--last-expiry"
		} else if !fixed[f.Reason] {
			hint = fmt.Sprintf("polex adopt does not change the configuration; to adopt the exception, set "+
				"shape.checks.%s: warning there", f.Reason)
		}
		plan.refuse(c, &Problem{Reason: f.Reason, Message: f.Message, Hint: hint})
		delete(plan.Write, c.To)
	}
	if !r.options.Configured && len(adopted) > 0 {
		plan.Write[configName] = r.config(plan, adopted, r.longest(adopted), eased) // refused exceptions do not count
	}
	return adopted, nil
}

// longest returns the time until the last expiry, rounded up to whole days.
func (r *repository) longest(all []*candidate) time.Duration {
	longest := r.options.Last
	for _, c := range all {
		longest = max(longest, c.ExpiresAt.Sub(r.options.Now))
	}
	const day = 24 * time.Hour
	return (longest + day - 1) / day * day
}

func days(d time.Duration) string {
	if d%(24*time.Hour) == 0 {
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	}
	return lifetime.FormatDuration(d)
}

package guard

import (
	"context"
	"maps"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"

	"github.com/polex-dev/polex/pkg/exception"
)

// Conversions say of the kinds that the cluster defines what makes one version of an
// object from another: "" for the API server itself, which changes nothing but the
// apiVersion, or else what does.
type Conversions map[exception.GroupKind]string

// Definitions is what is known of the cluster's definitions of exceptions. Where a
// webhook converts objects, each reader is shown what the webhook wants: Kyverno
// another exception than the guard, which reads the version that was signed.
type Definitions struct {
	Read  func(context.Context) (Conversions, error)
	Every time.Duration // how often they are looked at
	Clock clock.WithTicker
	// Failed is told why they could not be read, once for each that differs.
	Failed func(error)

	current atomic.Pointer[Conversions]
	failure string
}

// Run looks at the definitions again and again, until the context ends.
func (d *Definitions) Run(ctx context.Context) error {
	ticker := d.Clock.NewTicker(d.Every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
			d.Once(ctx)
		}
	}
}

// Once looks at the definitions. What was known before counts on where they cannot be
// read.
func (d *Definitions) Once(ctx context.Context) {
	read, err := d.Read(ctx)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		if text := err.Error(); text != d.failure {
			d.failure = text
			d.Failed(err)
		}
		return
	}
	d.failure = ""
	if before := d.current.Load(); before == nil || !maps.Equal(*before, read) {
		d.current.Store(&read)
	}
}

// known is what was read last, or nil. It is another pointer once it says something
// else.
func (d *Definitions) known() *Conversions {
	if d == nil {
		return nil
	}
	return d.current.Load()
}

// shown refuses an exception that others may be shown otherwise than the guard is.
func (c *Controller) shown(kind exception.GroupKind) error {
	switch {
	case c.Definitions == nil || !kind.IsException():
		return nil
	case c.conversions == nil:
		return refuse(ReasonConversion, "the definition of %s could not be read, so a webhook may convert it", kind)
	case (*c.conversions)[kind] != "":
		return refuse(ReasonConversion, "%s converts %s from version to version, so Kyverno may be shown another exception than was signed", (*c.conversions)[kind], kind)
	}
	return nil
}

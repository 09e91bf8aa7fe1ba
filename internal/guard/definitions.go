package guard

import (
	"context"
	"maps"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"

	"github.com/polex-dev/polex/pkg/exception"
)

// Conversions lists the kinds that the cluster defines.
type Conversions map[exception.GroupKind]Definition

// Definition is what the cluster's definition of a kind says about its objects.
type Definition struct {
	// Conversion names the webhook that converts the kind between versions. It is "" if the API server
	// converts objects itself and changes only the apiVersion.
	Conversion string
	// Spec changes with the definition. A schema without a field drops this field from stored objects,
	// which keep their resourceVersion.
	Spec string
}

// Definitions holds the cluster's definitions of exceptions. A conversion webhook decides what each
// client sees. It can show the guard the version that was signed, and Kyverno another exception.
type Definitions struct {
	Read  func(context.Context) (Conversions, error)
	Every time.Duration // the interval between two reads
	Clock clock.WithTicker
	// Failed receives the error of a failed read, once for each new text.
	Failed func(error)

	current atomic.Pointer[Conversions]
	failure string
}

// Run reads the definitions at the interval, until the context ends.
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

// Once reads the definitions. If that fails, the last ones stay valid.
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

// known returns the last definitions, or nil. The pointer changes only with their content.
func (d *Definitions) known() *Conversions {
	if d == nil {
		return nil
	}
	return d.current.Load()
}

// shown rejects an exception that a conversion webhook may show differently to Kyverno.
func (c *Controller) shown(kind exception.GroupKind) error {
	switch {
	case c.Definitions == nil || !kind.IsException():
		return nil
	case c.conversions == nil:
		return refuse(ReasonConversion, "the definition of %s could not be read, so a webhook may convert it", kind)
	case (*c.conversions)[kind].Conversion != "":
		return refuse(ReasonConversion, "the definition of exceptions: %s can show Kyverno another %s than the signed one", (*c.conversions)[kind].Conversion, kind)
	}
	return nil
}

package guard

import (
	"fmt"
	"sync"

	"github.com/polex-dev/polex/pkg/exception"
)

// Definition is what the cluster's definition of a kind says about its objects. It is empty if the
// cluster does not define the kind.
type Definition struct {
	// Conversion names the cause for which Kyverno may see another object than the guard. It is "" if
	// the API server converts objects itself and changes only the apiVersion.
	Conversion string
	// State changes with the definition. A schema without a field drops this field from stored
	// objects, which keep their resourceVersion.
	State string
}

// Definitions holds the cluster's definitions of exceptions. A conversion webhook decides what each
// client sees. It can show the guard the version that was signed, and Kyverno another exception.
type Definitions struct {
	mu  sync.Mutex
	all map[exception.GroupKind]defined
}

// defined is the state of the definition of a kind.
type defined struct {
	Definition
	known   bool // it was read
	watched bool // a change of it is seen at once
}

// Set replaces the definition of a kind. The last one stays valid while it cannot be read.
func (d *Definitions) Set(kind exception.GroupKind, definition Definition) {
	d.change(kind, func(k *defined) { k.Definition, k.known = definition, true })
}

// Watched records whether changes of the definition of a kind are seen.
func (d *Definitions) Watched(kind exception.GroupKind, watched bool) {
	d.change(kind, func(k *defined) { k.watched = watched })
}

func (d *Definitions) change(kind exception.GroupKind, change func(*defined)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.all == nil {
		d.all = map[exception.GroupKind]defined{}
	}
	k := d.all[kind]
	change(&k)
	d.all[kind] = k
}

// of returns the state of the definition of a kind. Other kinds than exceptions need none.
func (d *Definitions) of(kind exception.GroupKind) defined {
	if d == nil || !kind.IsException() {
		return defined{known: true, watched: true}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.all[kind]
}

// otherwise returns the cause for which Kyverno may see another object of a kind; "" is none.
func (d defined) otherwise(kind exception.GroupKind) string {
	switch {
	case !d.known:
		return fmt.Sprintf("the definition of %s could not be read, so a webhook may convert it", kind)
	case d.Conversion != "":
		return fmt.Sprintf("the definition of exceptions: %s can show Kyverno another %s than the signed one",
			d.Conversion, kind)
	}
	return ""
}

//go:build !unix

package commit_test

import "errors"

// limit fails for an order with limits, which only Unix has.
func limit(o order) error {
	if o.FileSize > 0 {
		return errors.ErrUnsupported
	}
	return nil
}

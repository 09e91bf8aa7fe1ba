package guard

import "github.com/polex-dev/polex/pkg/exception"

// SameContent reports whether two documents have the same content.
func SameContent(a, b *exception.Document) bool { return contentOf(a) == contentOf(b) }

// Reporting reports whether a report is being written.
func (c *Controller) Reporting() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reporting
}

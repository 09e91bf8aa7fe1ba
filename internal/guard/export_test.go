package guard

// Reporting reports whether a report is being written.
func (c *Controller) Reporting() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reporting
}

package git

// LeaveWork sets the remaining work for the present tree.
func (r *Repository) LeaveWork(bytes int64) { r.made.left = bytes }

package git

// LeaveWork leaves so many bytes of work for the tree at hand.
func (r *Repository) LeaveWork(bytes int64) { r.made.left = bytes }

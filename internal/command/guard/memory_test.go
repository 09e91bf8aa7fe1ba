package guard

import "testing"

// TestGCPercent: the heap may grow by the same for few exceptions, and never by less
// than what is live.
func TestGCPercent(t *testing.T) {
	for live, want := range map[int64]int{0: 600, 1 << 20: 600, 8 << 20: 300, 12 << 20: 200, 24 << 20: 100, 1 << 30: 100} {
		if got := gcPercent(live); got != want {
			t.Errorf("%d bytes: %d, want %d", live, got, want)
		}
	}
}

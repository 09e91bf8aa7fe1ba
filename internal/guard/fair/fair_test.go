package fair_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/guard/fair"
	"github.com/polex-dev/polex/test/expect"
)

// TestNext: the client with most places loses the one that it has not used for the longest time.
func TestNext(t *testing.T) {
	for name, tc := range map[string]struct {
		places string // the clients, in order
		use    []int
		remove []int
		want   string // the clients that lose a place, one after the other
	}{
		"none":                     {want: ""},
		"one client":               {places: "a1 a2 a3", want: "a1 a2 a3"},
		"one client, used again":   {places: "a1 a2 a3", use: []int{0}, want: "a2 a3 a1"},
		"an old place of another":  {places: "b1 a1 a2 a3", want: "a1 a2 b1 a3"},
		"equal clients":            {places: "b1 a1 c1", use: []int{0}, want: "a1 c1 b1"},
		"two clients with many":    {places: "b1 a1 c1 a2 c2", want: "a1 c1 b1 a2 c2"},
		"places that were removed": {places: "a1 a2 b1 b2 b3", remove: []int{2, 3, 2}, want: "a1 a2 b3"},
		"a removed place is used":  {places: "a1 a2", remove: []int{0}, use: []int{0}, want: "a2"},
	} {
		t.Run(name, func(t *testing.T) {
			var p fair.Places[string]
			var all []*fair.Place[string]
			for _, value := range strings.Fields(tc.places) {
				all = append(all, p.Add(fmt.Sprintf("%c:%c", value[0], value[1]), value))
			}
			for _, n := range tc.remove {
				p.Remove(all[n])
			}
			for _, n := range tc.use {
				p.Use(all[n])
			}
			var got []string
			for next := p.Next(); next != nil; next = p.Next() {
				got = append(got, next.Value)
				p.Remove(next)
			}
			expect.That(t, strings.Join(got, " ") == tc.want && p.Len() == 0,
				"%q and %d more, want %q", got, p.Len(), tc.want)
		})
	}
}

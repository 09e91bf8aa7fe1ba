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
		"one client":               {places: "a1 a2 a3", want: "a1 a2 a3"},
		"one client, used again":   {places: "a1 a2 a3", use: []int{0}, want: "a2 a3 a1"},
		"an old place of another":  {places: "b1 a1 a2 a3", want: "a1 a2 b1 a3"},
		"equal clients":            {places: "b1 a1 c1", use: []int{0}, want: "a1 c1 b1"},
		"two clients with many":    {places: "b1 a1 c1 a2 c2", want: "a1 c1 b1 a2 c2"},
		"places that were removed": {places: "a1 a2 b1 b2 b3", remove: []int{2, 3, 2}, want: "a1 a2 b3"},
		"a removed place is used":  {places: "a1 a2", remove: []int{0}, use: []int{0}, want: "a2"},
	} {
		t.Run(name, func(t *testing.T) {
			all := strings.Fields(tc.places)
			p := fair.Places[string]{Most: len(all)}
			var places []*fair.Place[string]
			for _, value := range all {
				places = append(places, p.Add(fmt.Sprintf("%c:%c", value[0], value[1]), value, nil))
			}
			for _, n := range tc.remove {
				places[n].Remove()
			}
			for _, n := range tc.use {
				places[n].Use()
			}
			var got []string
			p.Most = len(strings.Fields(tc.want)) // as many as are left
			for n := range p.Most {
				p.Add(fmt.Sprintf("new%d:1", n), "new", func(loses string) bool { got = append(got, loses); return true })
			}
			expect.Is(t, "lose a place", tc.want, strings.Join(got, " "))
		})
	}
}

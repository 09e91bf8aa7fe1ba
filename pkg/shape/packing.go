package shape

import (
	"encoding/binary"
	"time"
)

// packing writes values one behind the other or, when it is reading, takes them
// back in the same order. One list of fields is for both, so that they cannot
// differ. What is read was written in the same run, and is not checked.
type packing struct {
	shared  *packedClaims
	reading bool
	written []byte
	unread  string
}

func packList[T any](p *packing, list *[]T, item func(*T)) {
	length := len(*list)
	packNumber(p, &length)
	if p.reading && length > 0 {
		*list = make([]T, length)
	}
	for i := range *list {
		item(&(*list)[i])
	}
}

func (p *packing) pairs(m *map[string]string) {
	type pair struct{ key, value string }
	var pairs []pair
	for key, value := range *m {
		pairs = append(pairs, pair{key, value})
	}
	packList(p, &pairs, func(one *pair) {
		p.word(&one.key)
		p.text(&one.value)
	})
	if !p.reading || len(pairs) == 0 {
		return
	}
	*m = make(map[string]string, len(pairs))
	for _, one := range pairs {
		(*m)[one.key] = one.value
	}
}

// time leaves out the zone, of which nothing is asked.
func (p *packing) time(t *time.Time) {
	seconds, nanoseconds := t.Unix(), t.Nanosecond()
	packNumber(p, &seconds)
	packNumber(p, &nanoseconds)
	*t = time.Unix(seconds, int64(nanoseconds))
}

func (p *packing) flag(b *bool) {
	n := 0
	if *b {
		n = 1
	}
	packNumber(p, &n)
	*b = n == 1
}

// word is for a text that other exceptions are likely to have, too.
func (p *packing) word(s *string) {
	number := 0
	if !p.reading {
		number = p.shared.numberOf(*s)
	}
	if packNumber(p, &number); number == 0 {
		p.text(s)
	} else {
		*s = p.shared.words[number-1]
	}
}

// text that is read is a part of what was written, and no copy.
func (p *packing) text(s *string) {
	length := len(*s)
	packNumber(p, &length)
	if p.reading {
		*s, p.unread = p.unread[:length], p.unread[length:]
	} else {
		p.written = append(p.written, *s...)
	}
}

func packNumber[T int | int64](p *packing, n *T) {
	if !p.reading {
		p.written = binary.AppendVarint(p.written, int64(*n))
		return
	}
	value, size := binary.Varint([]byte(p.unread[:min(len(p.unread), binary.MaxVarintLen64)]))
	*n, p.unread = T(value), p.unread[size:]
}

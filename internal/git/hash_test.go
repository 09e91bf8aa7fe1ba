package git

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/pjbgf/sha1cd"

	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

func TestHash(t *testing.T) {
	const empty = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391" // git hash-object /dev/null
	expect.Is(t, "the empty file", empty, HashOf(KindBlob, nil).String())
	for text, want := range map[string]string{
		empty: empty, strings.ToUpper(empty): empty, empty[1:]: "", empty + "0": "", "": "", strings.Repeat("x", 40): "", strings.Repeat("a", 64): "",
	} {
		if IsHash(text) != (want != "") || NewHash(text).IsZero() != (want == "") || want != "" && NewHash(text).String() != want {
			t.Errorf("%q is %s, want %q", text, NewHash(text), want)
		}
	}
}

// shattered is the beginning of the first of the two files of shattered.io. It contains all bytes in which they differ.
const shattered = "255044462d312e330a25e2e3cfd30a0a0a312030206f626a0a3c3c2f57696474682032203020522f48656967687420332030" +
	"20522f547970652034203020522f537562747970652035203020522f46696c7465722036203020522f436f6c6f7253706163" +
	"652037203020522f4c656e6774682038203020522f42697473506572436f6d706f6e656e7420383e3e0a73747265616d0aff" +
	"d8fffe00245348412d3120697320646561642121212121852fec092339759c39b1a1c63c4c97e1fffe017346dc9166b67e11" +
	"8f029ab621b2560ff9ca67cca8c7f85ba84c79030c2b3de218f86db3a90901d5df45c14f26fedfb3dc38e96ac22fe7bd728f" +
	"0e45bce046d23c570feb141398bb552ef5a0a82be331fea48037b8b5d71f0e332edf93ac3500eb4ddc0decc1a864790c782c" +
	"76215660dd309791d06bd0af3f98cda4bc4629b1"

// TestCollision: content that was made to have the hash of other content has no hash.
func TestCollision(t *testing.T) {
	content := must.Get(hex.DecodeString(shattered))(t)
	for want, content := range map[bool][]byte{true: content, false: bytes.ToUpper(content)} {
		h := hasher{sha1cd.New()}
		_, _ = h.Write(content)
		got := h.sum()
		expect.That(t, got.IsZero() == want, "the hash is %s, and a collision is %v", got, want)
	}
}

// LeaveWork sets the remaining work for the present tree.
func (r *Repository) LeaveWork(bytes int64) { r.left.bytes = bytes }

// AnswerWithin sets the limit of the wait for one answer of Git, and returns a function that resets it.
func AnswerWithin(limit time.Duration) (reset func()) {
	before := answerLimit
	answerLimit = limit
	return func() { answerLimit = before }
}

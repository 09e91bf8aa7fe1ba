package witness

import (
	"crypto/sha256"
	"encoding/binary"
	"regexp"
	"slices"
	"strconv"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape/internal/expression"
)

// names makes up names that whoever wrote the conditions could not have known,
// for they come from a digest of the conditions: naming one in a condition
// changes them all. The same conditions give the same names.
type names struct {
	seed  [sha256.Size]byte
	texts []string // by word; "" for one that nobody has read
}

// word stands for a text that is known, or for a name that is made up when it is
// read: many are spoken of, and few are read. The zero word is none.
type word int

func newNames(conditions []*expression.Condition) *names {
	hash := sha256.New()
	for _, c := range conditions {
		hash.Write(binary.BigEndian.AppendUint64(nil, uint64(len(c.Text))))
		hash.Write([]byte(c.Text))
	}
	n := &names{texts: make([]string, 1, 80)}
	hash.Sum(n.seed[:0])
	return n
}

// reserve returns the first of some names to be made up. The others are the words
// after it.
func (n *names) reserve(count int) word {
	first := word(len(n.texts))
	n.texts = append(n.texts, make([]string, count)...)
	return first
}

// known returns a text as a word, the same for the same text.
func (n *names) known(text string) word {
	if i := slices.Index(n.texts, text); i > 0 {
		return word(i)
	}
	n.texts = append(n.texts, text)
	return word(len(n.texts) - 1)
}

// text returns what a word stands for.
func (n *names) text(w word) string {
	if n.texts[w] == "" && w != 0 {
		n.texts[w] = n.nth(w)
	}
	return n.texts[w]
}

// nth returns a name of 6 to 29 letters, digits and dashes that begins with a
// letter and ends with a letter or digit.
func (n *names) nth(w word) string {
	const letters, all = "abcdefghijklmnopqrstuvwxyz", "abcdefghijklmnopqrstuvwxyz0123456789-"
	sum := sha256.Sum256(strconv.AppendInt(n.seed[:], int64(w), 10))
	name := make([]byte, 6+int(sum[0])%24)
	for i := range name {
		name[i] = all[int(sum[i+1])%len(all)]
	}
	name[0] = letters[int(sum[1])%len(letters)]
	name[len(name)-1] = all[int(sum[len(name)])%(len(all)-1)]
	return string(name)
}

// domain ends what is made up to be of somebody's domain.
const domain = ".example"

// maxSpoken bounds how many words of the conditions are tried as names, and as
// kinds.
const maxSpoken = 5

var (
	kindForm = regexp.MustCompile(`^[A-Z][A-Za-z0-9]{0,62}$`)
	nameForm = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$`)
)

// spoken returns the texts of the conditions that have the form of a kind, and
// those that have the form of a name: a condition that is narrow but for one
// thing is true only of what bears them. Whether one names a PolicyException is
// another check's question.
func spoken(conditions []*expression.Condition) (kinds, words []string) {
	for _, c := range conditions {
		for _, text := range c.Literals() {
			switch {
			case text == exception.Kind:
			case len(kinds) < maxSpoken && kindForm.MatchString(text) && !slices.Contains(kinds, text):
				kinds = append(kinds, text)
			case len(words) < maxSpoken && nameForm.MatchString(text) && !slices.Contains(words, text):
				words = append(words, text)
			}
		}
	}
	return kinds, words
}

package shape

import (
	"crypto/sha256"
	"encoding/binary"
	"regexp"
	"slices"
	"strings"

	"github.com/polex-dev/polex/pkg/exception"
)

// names makes up names that whoever wrote the conditions could not have known,
// for they come from a digest of the conditions: naming one in a condition
// changes them all. The same conditions give the same names.
type names struct {
	seed [sha256.Size]byte
	made uint64
}

func newNames(conditions []condition) *names {
	hash := sha256.New()
	for _, c := range conditions {
		hash.Write(binary.BigEndian.AppendUint64(nil, uint64(len(c.text))))
		hash.Write([]byte(c.text))
	}
	n := &names{}
	hash.Sum(n.seed[:0])
	return n
}

// next returns a name of 6 to 29 letters, digits and dashes that begins with a
// letter and ends with a letter or digit.
func (n *names) next() string {
	const letters, all = "abcdefghijklmnopqrstuvwxyz", "abcdefghijklmnopqrstuvwxyz0123456789-"
	n.made++
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(n.seed[:], n.made))
	length := 6 + int(sum[0])%24
	name := make([]byte, length)
	for i := range name {
		name[i] = all[int(sum[i+1])%len(all)]
	}
	name[0] = letters[int(sum[1])%len(letters)]
	name[length-1] = all[int(sum[length])%(len(all)-1)]
	return string(name)
}

// kind returns a made-up kind.
func (n *names) kind() string {
	word := strings.ReplaceAll(n.next(), "-", "")
	return strings.ToUpper(word[:1]) + word[1:]
}

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
func spoken(conditions []condition) (kinds, words []string) {
	for _, c := range conditions {
		for _, text := range c.literals() {
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

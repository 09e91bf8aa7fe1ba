package shape

import (
	"path"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape/internal/match"
)

// packedClaims keeps claims, each in one piece of less than a hundred bytes as a
// rule, where what was read takes a thousand in a dozen. A claim is unpacked
// when another exception comes near.
type packedClaims struct {
	claims []string // by number
	// words are texts that exceptions have in common, each kept once.
	words   []string
	numbers map[string]int // of words, from 1
}

// add returns the number that a claim is kept under.
func (kept *packedClaims) add(c *claim) int {
	p := packing{shared: kept}
	p.claim(c)
	kept.claims = append(kept.claims, string(p.written))
	return len(kept.claims) - 1
}

func (kept *packedClaims) get(number int) claim {
	var c claim
	p := packing{shared: kept, reading: true, unread: kept.claims[number]}
	p.claim(&c)
	return c
}

// maxWords bounds the words: one that no other exception uses takes more room
// than a text.
const maxWords = 1 << 14

// numberOf returns a word's number, or 0 for what is not kept as a word.
func (kept *packedClaims) numberOf(word string) int {
	number := kept.numbers[word]
	if number > 0 || len(kept.words) == maxWords {
		return number
	}
	if kept.numbers == nil {
		kept.numbers = map[string]int{}
	}
	word = strings.Clone(word) // it may be a part of something long
	kept.words = append(kept.words, word)
	kept.numbers[word] = len(kept.words)
	return len(kept.words)
}

// claim leaves out what is asked of a claim only while it is the newest: what it
// is listed under, and where in its document a policy is named.
func (p *packing) claim(c *claim) {
	p.word(&c.id.Group)
	p.word(&c.id.Kind)
	p.word(&c.id.Namespace)
	p.text(&c.id.Name)
	p.position(&c.at)
	packList(p, &c.policies, func(ref *exception.PolicyRef) {
		p.word(&ref.Name)
		p.word(&ref.Kind)
		packList(p, &ref.Rules, p.word)
	})
	packList(p, &c.block.Any, p.filter)
	packList(p, &c.block.All, p.filter)
	packList(p, &c.conditions, p.text)
	p.text((*string)(&c.controls))
	p.text((*string)(&c.restraint))
	if p.flag(&c.live); c.live {
		p.text((*string)(&c.scope))
		p.time(&c.ends)
		p.flag(&c.endless)
	}
}

func (p *packing) position(at *exception.Position) {
	folder, file := path.Split(at.File)
	p.word(&folder)
	p.text(&file)
	at.File = folder + file
	packNumber(p, &at.Line)
	packNumber(p, &at.Column)
}

func (p *packing) filter(f *match.Filter) {
	packList(p, &f.Kinds, func(k *kyverno.KindSelector) {
		p.word(&k.Group)
		p.word(&k.Version)
		p.word(&k.Kind)
		p.word(&k.Subresource)
	})
	p.text(&f.Name)
	packList(p, &f.Names, p.text)
	packList(p, &f.Namespaces, p.word)
	p.pairs(&f.Annotations)
	p.selector(&f.Selector)
	p.selector(&f.NamespaceSelector)
	p.flag(&f.Users)
	p.flag(&f.Empty)
}

func (p *packing) selector(s **match.LabelSelector) {
	there := *s != nil
	if p.flag(&there); !there {
		return
	}
	if p.reading {
		*s = &match.LabelSelector{}
	}
	p.pairs(&(*s).Labels)
	packList(p, &(*s).Expressions, func(e *match.LabelExpression) {
		p.word(&e.Key)
		p.word(&e.Operator)
		packList(p, &e.Values, p.text)
	})
	p.flag(&(*s).Broken)
}

package translate_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/kyverno/translate"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// TestTranslationExemptsTheSameFiles compares the resources that the two forms of a match exempt, where
// the translated conditions are plain.
func TestTranslationExemptsTheSameFiles(t *testing.T) {
	named := slices.DeleteFunc(strings.Split(strings.TrimSpace(resources), "\n"), func(line string) bool { return strings.Contains(line, "generateName") })
	files := documents(t, "# one a line\n"+strings.Join(named, "\n---\n")+"\n")
	checker := must.Get(shape.New(shape.Config{Resources: shape.ReadResources(files)}))(t)
	how := translate.Translation{PolicyKinds: map[string]string{"require-probes": "ValidatingPolicy"}, WholePolicy: true}
	some := 0
	for _, match := range matches {
		head, _, _ := strings.Cut(legacy, "  match:\n")
		if strings.Contains(match, "subjects") {
			head += "  background: false\n"
		}
		old := documents(t, head+"  match: {"+match+"}\n")[0]
		source, notes, err := translate.Exception(old, how)
		if err != nil || len(notes) > 0 {
			t.Fatal(match, notes, err)
		}
		before, after := checker.Exempted(old), checker.Exempted(documents(t, string(source))[0])
		if !after.Known {
			continue // files cannot tell
		}
		expect.That(t, said(before) == said(after) && !after.Cut,
			"%s exempts %q, and translated %q", match, said(before), said(after))
		if before.Count > 0 {
			some++
		}
	}
	expect.AtLeast(t, "matches that exempt anything", 3, some)
}

// said returns the exempted resources and the assumptions. The match has patterns of kinds, and the
// translation names kinds. Controllers create the objects of some of them.
func said(found shape.Exemption) string {
	assumed := slices.DeleteFunc(slices.Clone(found.Assumed), func(text string) bool { return strings.Contains(text, "no controller makes more") })
	return fmt.Sprint(found.Resources, assumed)
}

func documents(t *testing.T, stream string) []*exception.Document {
	t.Helper()
	var docs []*exception.Document
	for r := exception.NewReader(strings.NewReader(stream), "set.yaml"); ; {
		d, err := r.Next()
		if errors.Is(err, io.EOF) {
			return docs
		}
		must.Do(t, err)
		docs = append(docs, d)
	}
}

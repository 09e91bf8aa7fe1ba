package commitmessage_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/polex-dev/polex/internal/promotion/commitmessage"
	"github.com/polex-dev/polex/test/expect"
)

func TestRead(t *testing.T) {
	hostile := "signed/a b\nPolex-Pruned: c.yaml"
	message := "Prune two\n\nPolex-Pruned: signed/not-here.yaml\n\nPolex-Pruned: signed/a.yaml 12\nPolex-Pruned: " + commitmessage.Path(hostile) + " 13\nSigned-off-by: A\n"
	got := commitmessage.Read(message)
	if diff := cmp.Diff([]commitmessage.Line{{Key: commitmessage.Pruned, Value: "signed/a.yaml 12"}, {Key: commitmessage.Pruned, Value: commitmessage.Path(hostile) + " 13"}}, got); diff != "" {
		t.Fatal(diff)
	}
	for _, tc := range []struct {
		line int
		path string
		want bool
	}{
		{0, "signed/a.yaml", true}, {0, "signed/a", false}, {0, "signed/a.yaml 12", false}, {1, hostile, true}, {1, "signed/a", false},
	} {
		expect.That(t, got[tc.line].Names(tc.path) == tc.want, "line %d names %q: %v", tc.line, tc.path, !tc.want)
	}
	if got := commitmessage.Read("Polex-Pruned:x\nNot-Ours: y"); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

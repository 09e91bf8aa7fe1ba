package shape_test

import "github.com/polex-dev/polex/pkg/shape"

var claimsCases = []change{
	{name: "who approved it", of: legacy, old: "  annotations:\n", new: "  annotations:\n    polex.dev/approved-by: bob\n",
		want: []string{`7 claims-review metadata.annotations["polex.dev/approved-by"] (warning)`}},
	{name: "nobody who approved it", of: legacy, old: "  annotations:\n", new: "  annotations:\n    polex.dev/approved-by: \"\"\n",
		want: []string{`7 claims-review metadata.annotations["polex.dev/approved-by"] (warning)`}},
	{name: "everything", of: legacy, old: "  annotations:\n",
		new: "  annotations:\n    polex.dev/requested-by: alice\n    polex.dev/pull-request: \"12\"\n    polex.dev/merge-commit: abc\n    polex.dev/recorded-from: api\n",
		want: []string{`7 claims-review metadata.annotations["polex.dev/requested-by"] (warning)`, `8 claims-review metadata.annotations["polex.dev/pull-request"] (warning)`,
			`9 claims-review metadata.annotations["polex.dev/merge-commit"] (warning)`, `10 claims-review metadata.annotations["polex.dev/recorded-from"] (warning)`}},
	{name: "where none is recorded", of: legacy, config: shape.Config{Checks: map[string]shape.Level{shape.ReasonClaimsReview: shape.LevelOff}},
		old: "  annotations:\n", new: "  annotations:\n    polex.dev/approved-by: bob\n"},
	{name: "where one is recorded", of: legacy, config: shape.Config{Checks: map[string]shape.Level{shape.ReasonClaimsReview: shape.LevelError}},
		old: "  annotations:\n", new: "  annotations:\n    polex.dev/approved-by: bob\n", want: []string{`7 claims-review metadata.annotations["polex.dev/approved-by"]`}},
	{name: "what is sealed", of: legacy, old: "  annotations:\n", new: "  annotations:\n    cosign.sigstore.dev/message: x\n    polex.dev/approved-by: bob\n",
		want: []string{`7 signature-present metadata.annotations["cosign.sigstore.dev/message"]`}},
}

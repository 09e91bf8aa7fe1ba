package doctor

var (
	PoliciesIn      = policiesIn
	ProtectedGroups = protectedGroups
)

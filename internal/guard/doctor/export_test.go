package doctor

var PoliciesIn = policiesIn

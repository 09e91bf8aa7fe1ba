package promote

// Differs is differs, for tests: no honest signer makes what it has to refuse.
var Differs = differs

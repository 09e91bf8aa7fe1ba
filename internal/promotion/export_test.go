package promotion

// Differs is differs, for tests: no honest signer makes a message that it rejects.
var Differs = differs

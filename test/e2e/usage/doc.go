// Package usage tests which exceptions polex-audit calls used, against the real Kyverno.
package usage

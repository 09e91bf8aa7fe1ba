// Package kyverno reads exceptions and policies as Kyverno 1.19 does, and answers questions that
// depend on nothing else. It has no team settings and does no I/O.
//
//  1. [Read] makes one model of the exceptions of both API groups. Each text has its path. A
//     value of another type than its field is listed in [Exception.Unread].
//  2. [ReadPolicies] reads policies, with the rules that Kyverno generates from theirs. It
//     also finds the policies that guard exceptions.
//  3. [WidthOf] recognises whether match conditions restrict anything.
//  4. [ParseRelease] and the tables beside it contain the API versions of each Kyverno release.
//
// [ReachesGuard] protects the guard. Its answer depends on one exception only. No report, limit of
// a report or other check affects it. In case of doubt, an exception reaches the guard.
//
// The package wildcard below it matches patterns, manifest knows kinds, match finds the exempted resources, expression
// compiles conditions, and translate rewrites exceptions of kyverno.io as exceptions of policies.kyverno.io.
package kyverno

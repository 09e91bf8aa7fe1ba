// Package match says which resources an exception is for.
//
//  1. Resources are read from manifests, and found by kind, name and namespace
//     ([Resources]).
//  2. The match of a kyverno.io exception is held against them as Kyverno does it
//     ([Block]).
//  3. The match conditions of a policies.kyverno.io exception are evaluated on the
//     requests that create, update or delete them ([ConditionMatcher]), as far as
//     files say what these would be. What they do not say is assumed, and told
//     ([Assumptions]).
//  4. A resource that two exceptions are both for is made up of what they ask for
//     ([InBoth], [Wants]).
package match

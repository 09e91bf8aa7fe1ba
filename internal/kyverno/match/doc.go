// Package match finds the resources that an exception exempts.
//
//  1. Resources are read from manifests, and found by kind, name and namespace ([Resources]).
//  2. The match of a kyverno.io exception is evaluated on them as in Kyverno ([Block]).
//  3. The match conditions of a policies.kyverno.io exception are read as such a match, if they are
//     plain ([ByConditions]). Nothing is evaluated. Facts that no file contains are assumed, and the
//     result lists them ([Assumptions]).
//  4. [InBoth] constructs a resource that two exceptions exempt.
package match

// Package witness tries match conditions on what nobody could have had in mind when
// writing them: made-up requests about made-up resources. Those of a class have nothing
// else in common. Conditions that are true of all say nothing of the resource
// ([Trial.Every]).
//
// What the conditions read of a request is noted, and the answer kept for others
// that are the same as far as that. All evaluations of a trial are bounded together
// ([Trial.Exhausted]).
package witness

package match

// Assumptions are facts that no file states and that a result depends on.
type Assumptions uint16

// One assumption for each text of assumptionTexts, in the same order.
const (
	assumedSender Assumptions = 1 << iota
	assumedConditions
	assumedNamespace
	assumedNamespaceLabels
	assumedLeftOut
	assumedMade
)

// assumptionTexts are the texts for people, each as the end of "assuming …".
var assumptionTexts = [...]string{
	"that the request is from a user that the match requires",
	"that the conditions hold",
	"that objects without a namespace in their file are in one that matches",
	"that namespaces which are in no file have the labels",
	"that the conditions are an error for no other object, which policies that mutate, generate or delete would skip",
	"that no controller makes more of these objects, such as the Pods of a Deployment",
}

// Texts returns the texts for people, each as the end of "assuming …".
func (a Assumptions) Texts() []string {
	var texts []string
	for i, text := range assumptionTexts {
		if a&(1<<i) != 0 {
			texts = append(texts, text)
		}
	}
	return texts
}

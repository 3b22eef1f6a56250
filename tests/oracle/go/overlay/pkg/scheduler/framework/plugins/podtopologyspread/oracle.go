package podtopologyspread

import "fmt"

// What PreFilter and PreScore write down, they write under these keys.
const (
	PreFilterStateKey = preFilterStateKey
	PreScoreStateKey  = preScoreStateKey
)

// Hard is what PreFilter has written: the constraints in force, and for each the number of Pods in its domains.
func Hard(written any) ([]string, []map[string]int) {
	state := written.(*preFilterState)
	return texts(state.Constraints), counts(state)
}

// Soft is what PreScore has written: the constraints in force.
func Soft(written any) []string {
	return texts(written.(*preScoreState).Constraints)
}

func texts(constraints []topologySpreadConstraint) []string {
	found := []string{}
	for _, one := range constraints {
		found = append(found, fmt.Sprintf("%s/%d/%s/minDomains=%d/affinity=%s/taints=%s", one.TopologyKey, one.MaxSkew,
			one.Selector, one.MinDomains, one.NodeAffinityPolicy, one.NodeTaintsPolicy))
	}
	return found
}

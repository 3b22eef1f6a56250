//go:build !kubernetes1.33

package podtopologyspread

// counts are kept together here: two constraints on one key share theirs.
func counts(state *preFilterState) []map[string]int {
	found := []map[string]int{}
	for _, one := range state.Constraints {
		domains := map[string]int{}
		for pair, count := range state.TpPairToMatchNum {
			if pair.key == one.TopologyKey {
				domains[pair.value] = count
			}
		}
		found = append(found, domains)
	}
	return found
}

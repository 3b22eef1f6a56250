//go:build kubernetes1.33

package podtopologyspread

func counts(state *preFilterState) []map[string]int {
	return state.TpValueToMatchNum
}

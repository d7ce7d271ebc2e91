package browser

import (
	"encoding/json"
	"fmt"
)

// maxLocalState is how much of a Local State is read. It holds much beside the
// profiles.
const maxLocalState = 32 << 20

// localState is what the file of that name says of profiles.
type localState struct {
	names map[string]string // by folder
	last  string            // the folder of the one that was used last
}

// parseLocalState reads Local State of Chrome and its relatives. What is not as it
// should be is left out: the folders are there without it, and only their names
// are not known.
func parseLocalState(text []byte) (localState, error) {
	var file struct {
		Profile struct {
			InfoCache map[string]json.RawMessage `json:"info_cache"`
			LastUsed  json.RawMessage            `json:"last_used"`
		} `json:"profile"`
	}
	state := localState{names: map[string]string{}}
	if err := json.Unmarshal(text, &file); err != nil {
		return state, fmt.Errorf("understand it: %w", err)
	}
	for folder, raw := range file.Profile.InfoCache {
		var info struct {
			Name string `json:"name"`
		}
		if json.Unmarshal(raw, &info) == nil && info.Name != "" {
			state.names[folder] = info.Name
		}
	}
	if json.Unmarshal(file.Profile.LastUsed, &state.last) != nil {
		state.last = ""
	}
	return state, nil
}

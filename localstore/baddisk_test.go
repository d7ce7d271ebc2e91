package localstore

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
)

// holes is a file of which the disk does not give some pages back.
type holes struct {
	content []byte
	lost    []int64
}

var errHole = errors.New("input/output error")

func (h holes) ReadAt(p []byte, at int64) (int, error) {
	for n := 0; n < len(p); n += defaultPageSize {
		if slices.Contains(h.lost, at+int64(n)) {
			return copy(p[:n], h.content[at:]), errHole
		}
	}
	return bytes.NewReader(h.content).ReadAt(p, at)
}

func TestWhatIsThereIsCopied(t *testing.T) {
	var content []byte
	for i := range 3 << 20 / 8 {
		content = fmt.Appendf(content, "%8d", i)
	}
	content = append(content, "the end"...)
	last := int64(3 << 20)
	for what, lost := range map[string][]int64{
		"nothing": nil, "the first page": {0}, "some together": {4096, 8192, 12288}, "some apart": {1 << 20, 2<<20 + 4096}, "the end": {last},
	} {
		want := bytes.Clone(content)
		for _, at := range lost {
			clear(want[at:min(at+defaultPageSize, int64(len(want)))])
		}
		var got bytes.Buffer
		missing, err := copyWhatIsThere(&got, holes{content, lost}, int64(len(content)))
		if err != nil || !bytes.Equal(got.Bytes(), want) || !slices.Equal(missing, lost) {
			t.Errorf("%s: %d of %d bytes, lost %v, %v", what, got.Len(), len(want), missing, err)
		}
	}
	if _, err := copyWhatIsThere(io.Discard, holes{content[:8000], []int64{0, 4096}}, 8000); !errors.Is(err, errHole) {
		t.Errorf("a disk that gives nothing back: %v", err)
	}
}

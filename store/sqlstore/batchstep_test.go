package sqlstore

import (
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/models"
)

func TestBatch_StepsFitTheServersPacket(t *testing.T) {
	text := strings.Repeat("東", 64) // 192 bytes
	employees := make([]models.Employee, 1000)
	for i := range employees {
		employees[i] = models.Employee{ID: int64(i + 1), First: &text, Last: &text, City: &text}
	}
	s := &Store{}
	b := s.creation(employees)
	for packet, want := range map[int64]int{64 << 20: stepRows, 1 << 20: stepRows, 256 << 10: 134, 1 << 10: 1} {
		steps := 0
		for first := 0; first < b.size; steps++ {
			items := b.nextStep(first, packet/2)
			if items[0] != first || len(items) > want || len(items) < want && items[len(items)-1] != b.size-1 {
				t.Fatalf("packet of %d bytes: a step has the items from %d on, %d of them, want %d", packet, items[0], len(items), want)
			}
			if bytes := b.bytesOf(items); len(items) > 1 && bytes > packet/2 {
				t.Errorf("packet of %d bytes: a step takes %d", packet, bytes)
			}
			first += len(items)
		}
	}
}

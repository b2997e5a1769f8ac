package ndbtest_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/ndb/internal/dictinfo"
	"github.com/ndbgate/ndbgate/ndb/internal/row"
	"github.com/ndbgate/ndbgate/ndb/internal/signal"
	"github.com/ndbgate/ndbgate/ndb/internal/word"
	"github.com/ndbgate/ndbgate/ndb/ndbtest"
)

// captured is a message of a real cluster of 9.7.2, as testdata has it.
type captured struct {
	Name, Direction, Meaning, Hex string
}

// What was recorded of the client.
const (
	capturedNode   = 50
	capturedRecord = 0x1ffc

	// The table emp.
	capturedEmp        = 4
	capturedEmpVersion = 2
)

// Words of requests that name objects.
const (
	keyReqTable, keyReqVersion   = 3, 5
	scanReqTable, scanReqVersion = 3, 4
)

func readCaptured(t testing.TB, file string) (messages []captured) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &messages); err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(messages, func(m captured) bool { return strings.HasPrefix(m.Name, "API_REG") })
}

// TestKeyOperations_AnswersAsRecorded sends the requests of a recording and
// compares the answers with those of the real data nodes, apart from numbers
// that each cluster chooses for itself.
func TestKeyOperations_AnswersAsRecorded(t *testing.T) {
	c := ndbtest.Run(t, ndbtest.APINodes(capturedNode, rawNode), ndbtest.NoReadBackup(), ndbtest.LockWaitTimeout(50*time.Millisecond))
	c.MustCreateTable(employeeTable)
	r := newReplay(t, c, "ndbtest/def/employee")
	r.seize(0x70, capturedRecord)
	r.run(readCaptured(t, "keyops.json"))
}

// empTable is the table of the recordings whose names begin with scan.
var empTable = ndbtest.TableDef{
	Database: "gwtest", Name: "emp", PrimaryKey: []string{"id"}, HashOnly: true,
	Columns: []ndbtest.ColumnDef{
		{Name: "id", Type: "INT UNSIGNED"},
		{Name: "first", Type: "VARCHAR(50)", NotNull: true},
		{Name: "last", Type: "VARCHAR(50)"},
		{Name: "department", Type: "INT"},
		{Name: "salary", Type: "BIGINT"},
		{Name: "version", Type: "INT UNSIGNED"},
		{Name: "email", Type: "VARCHAR(50)"},
		{Name: "flags", Type: "BIT(5)"},
	},
	Indexes: []ndbtest.IndexDef{
		{Name: "ix_last", Columns: []string{"last"}},
		{Name: "ix_dept_last", Columns: []string{"department", "last"}},
		{Name: "ux_email", Columns: []string{"email"}, Unique: true, HashOnly: true},
	},
}

func TestScansAndPrograms_AnswersAsRecorded(t *testing.T) {
	for _, name := range []string{
		"index-eq", "index-eq-othercase", "index-range-desc", "index-composite", "filter", "index-badbound", "schemaversion",
		"cas-ok", "cas-stale", "cas-stale-ignore", "unique-read", "unique-missing", "tx-rollback", "tx-commitreq",
		"tx-duplicate-abort", "tx-duplicate-ignore", "tx-unique-violation",
	} {
		t.Run(name, func(t *testing.T) {
			c := ndbtest.Run(t, ndbtest.APINodes(capturedNode, rawNode), ndbtest.NoReadBackup())
			if err := c.DefineTable(empTable); err != nil {
				t.Fatal(err)
			}
			rows, err := c.Rows("gwtest", "emp")
			if err != nil {
				t.Fatal(err)
			}
			version := 1
			if strings.HasPrefix(name, "cas-stale") {
				version = 2
			}
			err = rows.Insert(
				[]any{5, "First5", "Ångström", 5, 1005, 1, "u5@x.org", 5},
				[]any{7, "First7", "Zhang", 0, 1007, 1, "u7@x.org", 7},
				[]any{8, "First8", "Quixote", 4, 1008, 1, "u8@x.org", 8},
				[]any{5001, "Alonso", "Quixote", 3, 10, version, nil, 1},
				[]any{5002, "Alonso", "Quixote", 3, 10, version, nil, 1},
				[]any{5003, "Alonso", "Quixote", 3, 10, version, nil, 1},
			)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(name, "index-") && name != "index-composite" {
				tx := c.Begin() // 8 is only of use where the department counts
				if _, err := tx.Delete(t.Context(), rows, []any{8}); err != nil || tx.Commit() != nil {
					t.Fatal(err)
				}
			}
			r := newReplay(t, c, "gwtest/def/emp")
			messages := readCaptured(t, "scan-"+name+".json")
			r.seizeFor(messages)
			r.run(messages)
		})
	}
}

// replay maps the records and tables of a recording to ours.
type replay struct {
	*bareLink
	t        *testing.T
	table    *dictinfo.Table
	pointers map[uint32]uint32
	blocks   map[uint32]signal.Block
}

func newReplay(t *testing.T, c *ndbtest.Cluster, table string) *replay {
	r := &replay{t: t, bareLink: dialBare(t, c, capturedNode, 2), pointers: map[uint32]uint32{}, blocks: map[uint32]signal.Block{}}
	r.register()
	r.table = newRawClient(t, c, rawNode).table(table)
	return r
}

func (r *replay) seize(theirs, pointer uint32) {
	r.pointers[theirs], r.blocks[theirs] = r.bareLink.seize(pointer)
}

// seizeFor seizes the one record of a recording. Its number is in the first
// request, what the client calls it in the last answer to the coordinator.
func (r *replay) seizeFor(messages []captured) {
	first := parseHex(r.t, messages[0].Hex)
	pointer := uint32(capturedRecord)
	for _, c := range messages {
		m := parseHex(r.t, c.Hex)
		var conf signal.TCKeyConf
		err := signal.Unpack(&m, func(m *signal.Message) error {
			switch m.GSN {
			case signal.GSNTCKeyConf:
				if err := conf.Decode(m); err != nil {
					return err
				}
				pointer = conf.Pointer
			case signal.GSNScanTabConf, signal.GSNScanTabRef, signal.GSNTCRollbackRep:
				pointer = word.At(m.Data, 0)
			}
			return nil
		})
		if err != nil {
			r.t.Fatal(err)
		}
	}
	r.seize(word.At(first.Data, 0), pointer)
}

func (r *replay) run(messages []captured) {
	for len(messages) > 0 {
		messages = r.step(messages)
	}
}

// step sends the requests that come first and compares the answers that follow
// them.
func (r *replay) step(messages []captured) (rest []captured) {
	r.t.Helper()
	var want, got []string
	meaning := messages[0].Meaning
	i := 0
	for ; i < len(messages) && messages[i].Direction == "api->db"; i++ {
		m := parseHex(r.t, messages[i].Hex)
		if m.GSN == signal.GSNTCSeizeReq {
			var conf signal.TCSeizeConf
			answer := parseHex(r.t, messages[i+1].Hex)
			if err := conf.Decode(&answer); err != nil {
				r.t.Fatal(err)
			}
			r.seize(conf.TCPointer, conf.Pointer)
			continue
		}
		r.request(&m)
	}
	for ; i < len(messages) && messages[i].Direction != "api->db"; i++ {
		m := parseHex(r.t, messages[i].Hex)
		want = append(want, r.describe(&m)...)
	}
	for len(got) < len(want) {
		m := r.next()
		got = append(got, r.describe(&m)...)
	}
	want, got = byReceiver(want), byReceiver(got)
	if !slices.Equal(got, want) {
		r.t.Errorf("%s:\ngot  %s\nwant %s", meaning, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
	}
	return messages[i:]
}

// request sends what the client sent, to our records and tables.
func (r *replay) request(m *signal.Message) {
	data := words(m.Data)
	if m.GSN == signal.GSNTCCommitAck {
		for _, block := range r.blocks {
			r.bareLink.send(m.GSN, block, data)
			return
		}
	}
	theirs := data[0]
	data[0] = r.pointers[theirs]
	table, version := 0, 0
	switch m.GSN {
	case signal.GSNTCKeyReq:
		table, version = keyReqTable, keyReqVersion
	case signal.GSNScanTabReq:
		table, version = scanReqTable, scanReqVersion
	}
	if table > 0 && data[table] == capturedEmp {
		data[table], data[version] = r.table.ID, r.table.Version+data[version]-capturedEmpVersion
	}
	r.bareLink.send(m.GSN, r.blocks[theirs], data, m.Sections[:m.NumSections]...)
}

// byReceiver puts the rows of each receiver of a scan into one line: their order
// counts, and not who got them.
func byReceiver(lines []string) []string {
	rows := map[string]string{}
	var rest []string
	for _, line := range lines {
		if receiver, text, isRow := strings.Cut(line, ": receiver's row "); isRow {
			rows[receiver] += text + " "
			continue
		}
		rest = append(rest, line)
	}
	for _, text := range rows {
		rest = append(rest, "rows "+text)
	}
	slices.Sort(rest)
	return rest
}

func words(data []byte) []uint32 {
	var all []uint32
	for i := range len(data) / word.SizeBytes {
		all = append(all, word.At(data, i))
	}
	return all
}

func parseHex(t testing.TB, text string) (m signal.Message) {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := signal.Parse(b, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// describe says what a message tells, for each operation apart: how many a
// message confirms, and in which order, is the data node's affair. Seizing and
// heartbeats say nothing.
func (r *replay) describe(m *signal.Message) (lines []string) {
	r.t.Helper()
	err := signal.Unpack(m, func(m *signal.Message) error {
		switch m.GSN {
		case signal.GSNTCKeyConf:
			var s signal.TCKeyConf
			if err := s.Decode(m); err != nil {
				return err
			}
			for i := range s.Len() {
				op, length := s.Op(i)
				if _, ok := signal.ReadNode(length); ok {
					length = signal.CommittedReadLength(0)
				}
				lines = append(lines, fmt.Sprintf("operation %#x of %v: %#x", op, s.TransID, length))
			}
			if s.Committed {
				lines = append(lines, fmt.Sprintf("committed %v, marker %t, checkpoint %t", s.TransID, s.Marker, s.GCI > 0))
			}
		case signal.GSNTCCommitConf:
			var s signal.TCCommitConf
			if err := s.Decode(m); err != nil {
				return err
			}
			s.GCI = 0
			lines = append(lines, fmt.Sprintf("%+v", s))
		case signal.GSNTransIDAI:
			var s signal.TransIDAI
			if err := s.Decode(m); err != nil {
				return err
			}
			text := fmt.Sprintf("%x", s.Attributes)
			if row.AttrHeader(word.At(s.Attributes, 0)).ID() == row.AttrReadPacked {
				text = r.packedRow(s.Attributes)
			}
			lines = append(lines, fmt.Sprintf("%#x of %v: receiver's row %s", s.Pointer, s.TransID, text))
		case signal.GSNScanTabConf:
			var s signal.ScanTabConf
			if err := s.Decode(m); err != nil {
				return err
			}
			for i := range s.Len() {
				_, next, n, length := s.Op(i)
				lines = append(lines, fmt.Sprintf("batch of %d rows, %d words, more %t", n, length, next.IsValid()))
			}
			if s.EndOfData {
				lines = append(lines, fmt.Sprintf("scan %v is over", s.TransID))
			}
		case signal.GSNAPIRegConf, signal.GSNTCSeizeConf:
		default:
			lines = append(lines, fmt.Sprintf("%v from %#x: %x %x", m.GSN, uint16(m.Sender.Main()), m.Data, m.Sections[0]))
		}
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return lines
}

// packedRow is the values of a packed row as text: what fills the gaps between
// them is garbage.
func (r *replay) packedRow(words []byte) string {
	r.t.Helper()
	var columns []*dictinfo.Column
	for i := range r.table.Columns {
		columns = append(columns, &r.table.Columns[i])
	}
	p, err := row.NewProjection(columns)
	if err != nil {
		r.t.Fatal(err)
	}
	spans := make([]row.Span, len(columns))
	if _, err := p.Decode(words, spans); err != nil {
		r.t.Fatal(err)
	}
	var values []any
	for i, c := range columns {
		v, err := row.Value(c, words, spans[i])
		if err != nil {
			r.t.Fatal(err)
		}
		values = append(values, v)
	}
	return fmt.Sprint(values...)
}

// next returns the next message.
func (b *bareLink) next() (m signal.Message) {
	b.t.Helper()
	message := b.message()
	if _, err := signal.Parse(message, &m); err != nil {
		b.t.Fatal(err)
	}
	return m
}

package signal

import (
	"strings"
	"time"

	"github.com/ndbgate/ndbgate/ndb/internal/word"
)

// codec is what every signal of this package has.
type codec interface {
	AppendTo(dst []byte) []byte
	Decode(m *Message) error
}

// signalTest describes one signal for the tests that all of them go through.
type signalTest struct {
	gsn GSN
	// make returns a zero signal; those for a coordinator go to tc.
	make     func(tc TCRef) codec
	examples []codec
	// openWords is the number of data words from which on more may follow or
	// be missing; 0 where the number is fixed.
	openWords int
	// unknownWords are data words that a data node fills in and we do not.
	unknownWords []int
}

var (
	testTC      = TCRef{NewBlockRef(BlockDBTC.WithInstance(1), 2)}
	testTransID = TransID{Low: 0x89dd7809, High: 0x3200}
	testRef     = NewBlockRef(BlockAPI, 50)
)

func numbered(words int) []byte {
	var b []byte
	for i := range words {
		b = word.Append(b, uint32(i)+1)
	}
	return b
}

var signalTests = []signalTest{
	{
		gsn:      GSNAPIRegReq,
		make:     func(TCRef) codec { return &APIRegReq{} },
		examples: []codec{&APIRegReq{Ref: NewBlockRef(BlockCluster, 50), Version: 0x90702, MySQLVersion: 0x90703}},
	},
	{
		gsn:  GSNAPIRegConf,
		make: func(TCRef) codec { return &APIRegConf{} },
		examples: []codec{&APIRegConf{}, &APIRegConf{
			QMGR: NewBlockRef(BlockQMGR, 2), Version: 1, Heartbeat: 1500 * time.Millisecond, MySQLVersion: 2, MinDBVersion: 3,
			StartLevel: StartLevelStopping2, NodeGroup: 4, DynamicID: 5, State: [3]uint32{6, 7, 8}, SingleUser: true, SingleUserAPI: 53,
			Connected: NewNodeSet(1, 31, 32, 255), MinAPIVersion: 9,
		}},
	},
	{
		gsn:      GSNAPIRegRef,
		make:     func(TCRef) codec { return &APIRegRef{} },
		examples: []codec{&APIRegRef{Ref: NewBlockRef(BlockQMGR, 2), Version: 1, Error: RegErrorVersion, MySQLVersion: 2}},
	},
	{
		gsn:  GSNNodeFailRep,
		make: func(TCRef) codec { return &NodeFailRep{} },
		examples: []codec{
			&NodeFailRep{FailureNumber: 7, Master: 2, Failed: NewNodeSet(3)},
			&NodeFailRep{FailureNumber: 7, Master: 2, Failed: NewNodeSet(3, 255)},
			&NodeFailRep{},
		},
	},
	{
		gsn:      GSNTakeOverTCConf,
		make:     func(TCRef) codec { return &TakeOverTCConf{} },
		examples: []codec{&TakeOverTCConf{Failed: 3, Ref: NewBlockRef(BlockQMGR, 2)}},
	},
	{
		gsn:          GSNNFCompleteRep,
		make:         func(TCRef) codec { return &NFCompleteRep{} },
		examples:     []codec{&NFCompleteRep{Block: NewBlockRef(BlockQMGR, 0), Reporting: 2, Failed: 3}},
		unknownWords: []int{4},
	},
	{
		gsn:  GSNGetTabInfoReq,
		make: func(TCRef) codec { return &GetTabInfoReq{} },
		examples: []codec{
			NewGetTabInfoByID(1, testRef, 0),
			NewGetTabInfoByID(1, testRef, 7),
			must(NewGetTabInfoByName(1, testRef, "a/def/b")),
			must(NewGetTabInfoByName(1, testRef, strings.Repeat("x", MaxNameBytes-1))),
		},
	},
	{
		gsn:  GSNGetTabInfoConf,
		make: func(TCRef) codec { return &GetTabInfoConf{} },
		examples: []codec{
			&GetTabInfoConf{RequestID: 1, TableID: 2, GCI: 3, TableType: 4},
			&GetTabInfoConf{RequestID: 1, TableID: 2, GCI: 3, TableType: 4, Properties: numbered(30)},
		},
		openWords:    6,
		unknownWords: []int{5},
	},
	{
		gsn:          GSNGetTabInfoRef,
		make:         func(TCRef) codec { return &GetTabInfoRef{} },
		examples:     []codec{&GetTabInfoRef{RequestID: 1, Ref: NewBlockRef(BlockDBDICT, 2), Error: 723}},
		unknownWords: []int{2, 3, 6},
	},
	{
		gsn:  GSNListTablesReq,
		make: func(TCRef) codec { return &ListTablesReq{} },
		examples: []codec{
			&ListTablesReq{RequestID: 1, Ref: testRef, Flags: ListNames},
			&ListTablesReq{RequestID: 1, Ref: testRef, Flags: ListNames | ListIndexes, TableID: 7, TableType: 6},
		},
	},
	{
		gsn:  GSNListTablesConf,
		make: func(TCRef) codec { return &ListTablesConf{} },
		examples: []codec{
			&ListTablesConf{RequestID: 1},
			&ListTablesConf{RequestID: 1, Objects: []ListedObject{
				{ID: 1, Type: 2, State: ObjectOnline, Store: 2, Name: "a/def/b"},
				{ID: 1, Type: 24, State: 15, Store: 7, Temporary: true},
			}},
		},
		openWords:    2,
		unknownWords: []int{2, 3, 4},
	},
	{
		gsn:  GSNAlterTableRep,
		make: func(TCRef) codec { return &AlterTableRep{} },
		examples: []codec{
			&AlterTableRep{TableID: 9, OldVersion: 4, Change: TableAltered, Name: "a/def/b"},
			&AlterTableRep{Change: TableDropped, Name: strings.Repeat("x", MaxNameBytes-1)},
		},
	},
	{
		gsn:      GSNTCSeizeReq,
		make:     func(TCRef) codec { return &TCSeizeReq{} },
		examples: []codec{&TCSeizeReq{Pointer: 0x1ffc, Ref: testRef, Instance: 3}},
	},
	{
		gsn:      GSNTCSeizeConf,
		make:     func(TCRef) codec { return &TCSeizeConf{} },
		examples: []codec{&TCSeizeConf{Pointer: 0x1ffc, TCPointer: 0x71, TC: testTC}},
	},
	{
		gsn:      GSNTCSeizeRef,
		make:     func(TCRef) codec { return &TCSeizeRef{} },
		examples: []codec{&TCSeizeRef{Pointer: 0x1ffc, Error: 219}},
	},
	{
		gsn:      GSNTCReleaseReq,
		make:     func(tc TCRef) codec { return &TCReleaseReq{TC: tc} },
		examples: []codec{&TCReleaseReq{TC: testTC, TCPointer: 0x71, Ref: testRef, Pointer: 0x1ffc}},
	},
	{
		gsn:      GSNTCReleaseConf,
		make:     func(TCRef) codec { return &TCReleaseConf{} },
		examples: []codec{&TCReleaseConf{Pointer: 0x1ffc}},
	},
	{
		gsn:          GSNTCReleaseRef,
		make:         func(TCRef) codec { return &TCReleaseRef{} },
		examples:     []codec{&TCReleaseRef{Pointer: 0x1ffc, Error: 229}},
		unknownWords: []int{2},
	},
	{
		gsn:  GSNTCKeyReq,
		make: func(tc TCRef) codec { return &TCKeyReq{TC: tc} },
		examples: []codec{
			&TCKeyReq{TC: testTC, TCPointer: 1, OpPointer: 4, TableID: 7, TableVersion: 1, Operation: OpInsert, Flags: FlagStart | FlagExecute | FlagCommit, TransID: testTransID},
			&TCKeyReq{TC: testTC, Operation: OpReadExclusive, Flags: FlagScanInfo, ScanInfo: 5, TransID: testTransID},
			&TCKeyReq{TC: testTC, Operation: OpRead, Flags: FlagDistributionKey, Distribution: 6, TransID: testTransID},
			&TCKeyReq{TC: testTC, Operation: OpDelete, Flags: FlagScanInfo | FlagDistributionKey, ScanInfo: 5, Distribution: 6},
		},
	},
	{
		gsn:      GSNTCIndxReq,
		make:     func(tc TCRef) codec { return &TCKeyReq{TC: tc} },
		examples: []codec{&TCKeyReq{TC: testTC, UniqueIndex: true, TableID: 10, Operation: OpUpdate, Flags: FlagExecute, TransID: testTransID}},
	},
	{
		gsn:  GSNTCKeyConf,
		make: func(TCRef) codec { return &TCKeyConf{} },
		examples: []codec{
			&TCKeyConf{Pointer: RNIL, TransID: testTransID},
			&TCKeyConf{Pointer: 0x1ffc, GCI: 0x1c0000000007, Committed: true, TransID: testTransID, ops: numbered(2)},
			&TCKeyConf{Pointer: 0x1ffc, Committed: true, Marker: true, TransID: testTransID, ops: numbered(18)},
		},
	},
	{
		gsn:  GSNTransIDAI,
		make: func(TCRef) codec { return &TransIDAI{} },
		examples: []codec{
			&TransIDAI{Pointer: 4, TransID: testTransID},
			&TransIDAI{Pointer: 4, TransID: testTransID, Attributes: numbered(22)},
			&TransIDAI{Pointer: 4, TransID: testTransID, Attributes: numbered(23)},
		},
		openWords: 3,
	},
	{
		gsn:      GSNTCKeyRef,
		make:     func(TCRef) codec { return &TCKeyRef{} },
		examples: []codec{&TCKeyRef{OpPointer: 4, TransID: testTransID, Error: 626, Detail: 2}},
	},
	{
		gsn:      GSNTCIndxRef,
		make:     func(TCRef) codec { return &TCKeyRef{} },
		examples: []codec{&TCKeyRef{UniqueIndex: true, OpPointer: 4, TransID: testTransID, Error: 626, Detail: 2}},
	},
	{
		gsn:      GSNTCRollbackRep,
		make:     func(TCRef) codec { return &TCRollbackRep{} },
		examples: []codec{&TCRollbackRep{Pointer: 0x1ffc, TransID: testTransID, Error: 893, Detail: 10}},
	},
	{
		gsn:  GSNTCKeyFailConf,
		make: func(TCRef) codec { return &TCKeyFailConf{} },
		examples: []codec{
			&TCKeyFailConf{OpPointer: 4, TransID: testTransID},
			&TCKeyFailConf{OpPointer: 4, Marker: true, TransID: testTransID},
		},
	},
	{
		gsn:      GSNTCKeyFailRef,
		make:     func(TCRef) codec { return &TCKeyFailRef{} },
		examples: []codec{&TCKeyFailRef{OpPointer: 4, TransID: testTransID}},
	},
	{
		gsn:      GSNTCCommitReq,
		make:     func(tc TCRef) codec { return &TCCommitReq{TC: tc} },
		examples: []codec{&TCCommitReq{TC: testTC, TCPointer: 0x71, TransID: testTransID}},
	},
	{
		gsn:  GSNTCCommitConf,
		make: func(TCRef) codec { return &TCCommitConf{} },
		examples: []codec{
			&TCCommitConf{Pointer: 0x1ffc, TransID: testTransID},
			&TCCommitConf{Pointer: 0x1ffc, Marker: true, TransID: testTransID, GCI: 0x15400000002},
		},
	},
	{
		gsn:      GSNTCCommitRef,
		make:     func(TCRef) codec { return &TCCommitRef{} },
		examples: []codec{&TCCommitRef{Pointer: 0x1ffc, TransID: testTransID, Error: 266}},
	},
	{
		gsn:      GSNTCRollbackReq,
		make:     func(tc TCRef) codec { return &TCRollbackReq{TC: tc} },
		examples: []codec{&TCRollbackReq{TC: testTC, TCPointer: 0x71, TransID: testTransID}},
	},
	{
		gsn:      GSNTCRollbackConf,
		make:     func(TCRef) codec { return &TCRollbackConf{} },
		examples: []codec{&TCRollbackConf{Pointer: 0x1ffc, TransID: testTransID}},
	},
	{
		gsn:       GSNTCRollbackRef,
		make:      func(TCRef) codec { return &TCRollbackRef{} },
		examples:  []codec{&TCRollbackRef{Pointer: 0x1ffc, TransID: testTransID, Error: 232}},
		openWords: 4,
	},
	{
		gsn:      GSNTCCommitAck,
		make:     func(tc TCRef) codec { return &TCCommitAck{TC: tc} },
		examples: []codec{&TCCommitAck{TC: testTC, TransID: testTransID}},
	},
	{
		gsn:      GSNTCHbRep,
		make:     func(tc TCRef) codec { return &TCHbRep{TC: tc} },
		examples: []codec{&TCHbRep{TC: testTC, TCPointer: 0x71, TransID: testTransID}},
	},
	{
		gsn:      GSNWaitGCPReq,
		make:     func(TCRef) codec { return &WaitGCPReq{} },
		examples: []codec{&WaitGCPReq{Ref: testRef, RequestID: 0x38, Type: WaitGCPComplete}},
	},
	{
		gsn:      GSNWaitGCPConf,
		make:     func(TCRef) codec { return &WaitGCPConf{} },
		examples: []codec{&WaitGCPConf{RequestID: 0x38, GCI: 0x2fe00000001}},
	},
	{
		gsn:      GSNWaitGCPRef,
		make:     func(TCRef) codec { return &WaitGCPRef{} },
		examples: []codec{&WaitGCPRef{Error: WaitGCPTooMany, RequestID: 0x38}},
	},
	{
		gsn:  GSNScanTabReq,
		make: func(tc TCRef) codec { return &ScanTabReq{TC: tc} },
		examples: []codec{
			&ScanTabReq{
				TC: testTC, TCPointer: 0x79, Target: TableScan(4, 2), Flags: ScanNoDisk | ScanMemoryOrder, TransID: testTransID,
				BatchRows: 256, BatchBytes: 16384, Receivers: []uint32{4, 8}, AttrInfo: numbered(6),
			},
			&ScanTabReq{
				TC: testTC, Target: IndexScan(8, 1), Lock: ScanExclusive, Flags: ScanKeyInfo | ScanDescending, InTransaction: true, Buddy: 0x72,
				BatchRows: MaxScanBatchRows, Receivers: []uint32{4}, AttrInfo: numbered(5),
			},
			&ScanTabReq{
				TC: testTC, Target: PrunedIndexScan(8, 1, 0xabcd), Lock: ScanShared,
				BatchRows: 1, Receivers: []uint32{4}, AttrInfo: numbered(7), Bounds: numbered(3),
			},
		},
	},
	{
		gsn:  GSNScanTabConf,
		make: func(TCRef) codec { return &ScanTabConf{} },
		examples: []codec{
			&ScanTabConf{Pointer: 0x2c, TransID: testTransID, EndOfData: true},
			&ScanTabConf{Pointer: 0x2c, TransID: testTransID, ops: numbered(21)},
			&ScanTabConf{Pointer: 0x2c, TransID: testTransID, ops: numbered(24)},
		},
	},
	{
		gsn:  GSNScanTabRef,
		make: func(TCRef) codec { return &ScanTabRef{} },
		examples: []codec{
			&ScanTabRef{Pointer: 0x2c, TransID: testTransID, Error: 296, CloseNeeded: true},
			&ScanTabRef{Pointer: 0x2c, TransID: testTransID, Error: 241},
		},
	},
	{
		gsn:  GSNScanNextReq,
		make: func(tc TCRef) codec { return &ScanNextReq{TC: tc} },
		examples: []codec{
			&ScanNextReq{TC: testTC, TCPointer: 0x79, TransID: testTransID, Close: true},
			&ScanNextReq{TC: testTC, TCPointer: 0x79, TransID: testTransID, Fragments: fragments(21)},
			&ScanNextReq{TC: testTC, TCPointer: 0x79, TransID: testTransID, Fragments: fragments(22)},
		},
		openWords: 5,
	},
	{
		gsn:  GSNKeyInfo20,
		make: func(TCRef) codec { return &KeyInfo20{} },
		examples: []codec{
			&KeyInfo20{Receiver: 0x34, ScanInfo: 1<<18 - 1, Fragment: 1<<12 - 1, TransID: testTransID, Key: numbered(20)},
			&KeyInfo20{Receiver: 0x34, ScanInfo: 0x10c, TransID: testTransID, Key: numbered(21)},
		},
	},
}

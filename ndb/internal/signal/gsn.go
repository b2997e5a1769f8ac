// Package signal encodes and decodes the signals that an API node and data
// nodes exchange. Each signal is a struct with AppendTo and Decode side by side,
// in the order of the wire; PROTOCOL.md says where the facts come from.
//
// What an API node may send is a closed set: AppendOutgoing takes only
// the types of this package that know the block they go to. A data node that
// receives a signal it does not know stops itself.
package signal

import "fmt"

// GSN is a global signal number: the type of a signal.
type GSN uint16

// The signals that this package knows.
const (
	GSNAPIRegConf        GSN = 1
	GSNAPIRegRef         GSN = 2
	GSNAPIRegReq         GSN = 3
	GSNTransIDAI         GSN = 5
	GSNTCKeyFailConf     GSN = 8
	GSNTCKeyFailRef      GSN = 9
	GSNTCKeyConf         GSN = 10
	GSNTCKeyRef          GSN = 11
	GSNTCKeyReq          GSN = 12
	GSNTCRollbackConf    GSN = 13
	GSNTCRollbackRef     GSN = 14
	GSNTCRollbackReq     GSN = 15
	GSNTCRollbackRep     GSN = 16
	GSNTCCommitConf      GSN = 17
	GSNTCCommitRef       GSN = 18
	GSNTCCommitReq       GSN = 19
	GSNTCHbRep           GSN = 20
	GSNGetTabInfoRef     GSN = 23
	GSNGetTabInfoReq     GSN = 24
	GSNNodeFailRep       GSN = 26
	GSNNFCompleteRep     GSN = 27
	GSNScanNextReq       GSN = 28
	GSNScanTabConf       GSN = 29
	GSNScanTabRef        GSN = 31
	GSNScanTabReq        GSN = 32
	GSNKeyInfo20         GSN = 33
	GSNTCReleaseConf     GSN = 34
	GSNTCReleaseRef      GSN = 35
	GSNTCReleaseReq      GSN = 36
	GSNTCSeizeConf       GSN = 37
	GSNTCSeizeRef        GSN = 38
	GSNTCSeizeReq        GSN = 39
	GSNGetTabInfoConf    GSN = 190
	GSNListTablesReq     GSN = 193
	GSNListTablesConf    GSN = 194
	GSNTakeOverTCConf    GSN = 399
	GSNTCCommitAck       GSN = 469
	GSNWaitGCPReq        GSN = 499
	GSNWaitGCPRef        GSN = 500
	GSNWaitGCPConf       GSN = 501
	GSNTCIndxReq         GSN = 519
	GSNTCIndxConf        GSN = 520
	GSNTCIndxRef         GSN = 521
	GSNSubGCPCompleteRep GSN = 593
	GSNAlterTableRep     GSN = 606
)

var gsnNames = map[GSN]string{
	GSNAPIRegConf: "API_REGCONF", GSNAPIRegRef: "API_REGREF", GSNAPIRegReq: "API_REGREQ",
	GSNTransIDAI:     "TRANSID_AI",
	GSNTCKeyFailConf: "TCKEY_FAILCONF", GSNTCKeyFailRef: "TCKEY_FAILREF",
	GSNTCKeyConf: "TCKEYCONF", GSNTCKeyRef: "TCKEYREF", GSNTCKeyReq: "TCKEYREQ",
	GSNTCRollbackConf: "TCROLLBACKCONF", GSNTCRollbackRef: "TCROLLBACKREF",
	GSNTCRollbackReq: "TCROLLBACKREQ", GSNTCRollbackRep: "TCROLLBACKREP",
	GSNTCCommitConf: "TC_COMMITCONF", GSNTCCommitRef: "TC_COMMITREF", GSNTCCommitReq: "TC_COMMITREQ",
	GSNTCHbRep:       "TC_HBREP",
	GSNGetTabInfoRef: "GET_TABINFOREF", GSNGetTabInfoReq: "GET_TABINFOREQ", GSNGetTabInfoConf: "GET_TABINFO_CONF",
	GSNNodeFailRep: "NODE_FAILREP", GSNNFCompleteRep: "NF_COMPLETEREP",
	GSNScanNextReq: "SCAN_NEXTREQ", GSNScanTabConf: "SCAN_TABCONF", GSNScanTabRef: "SCAN_TABREF", GSNScanTabReq: "SCAN_TABREQ",
	GSNKeyInfo20:     "KEYINFO20",
	GSNTCReleaseConf: "TCRELEASECONF", GSNTCReleaseRef: "TCRELEASEREF", GSNTCReleaseReq: "TCRELEASEREQ",
	GSNTCSeizeConf: "TCSEIZECONF", GSNTCSeizeRef: "TCSEIZEREF", GSNTCSeizeReq: "TCSEIZEREQ",
	GSNListTablesReq: "LIST_TABLES_REQ", GSNListTablesConf: "LIST_TABLES_CONF",
	GSNTakeOverTCConf: "TAKE_OVERTCCONF", GSNTCCommitAck: "TC_COMMIT_ACK",
	GSNWaitGCPReq: "WAIT_GCP_REQ", GSNWaitGCPRef: "WAIT_GCP_REF", GSNWaitGCPConf: "WAIT_GCP_CONF",
	GSNTCIndxReq: "TCINDXREQ", GSNTCIndxConf: "TCINDXCONF", GSNTCIndxRef: "TCINDXREF",
	GSNSubGCPCompleteRep: "SUB_GCP_COMPLETE_REP", GSNAlterTableRep: "ALTER_TABLE_REP",
}

// String gives the protocol's own spelling.
func (g GSN) String() string {
	if name, ok := gsnNames[g]; ok {
		return name
	}
	return fmt.Sprintf("GSN %d", uint16(g))
}

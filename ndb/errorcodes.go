package ndb

// family is a group of codes that mean the same to a caller.
type family struct {
	class  Classification
	status Status
	codes  []int
}

// families is the one table of NDB's error codes. Its source is the list of
// ndb/PROTOCOL.md.
var families = []family{
	{ClassNoDataFound, StatusPermanent, []int{626}},
	{ClassConstraint, StatusPermanent, []int{630, 893, 839, 840, 255, 256}},
	{ClassTimeout, StatusTemporary, []int{266, 274, 296, 297, 237, 635}},
	{ClassNodeRecovery, StatusTemporary, []int{
		286, 250, 499, 631, 1204, 4002, 4007, 4010, 4013, 4025, 4027, 4028, 4029, 4031, 4033, 4035, 4119, 1703, 1705,
	}},
	{ClassNodeRecovery, StatusCommitted, []int{4115}},
	{ClassNodeShutdown, StatusTemporary, []int{270, 280, 1223, 4023, 4030, 4034, 203, 282}},
	{ClassNodeShutdown, StatusPermanent, []int{281, 299}},
	{ClassOverload, StatusTemporary, []int{410, 677, 701, 711, 763, 891, 1220, 1221, 1234, 1518, 4006}},
	{ClassResource, StatusTemporary, []int{
		217, 218, 219, 221, 233, 234, 245, 251, 273, 275, 279, 288, 289, 291, 293, 312, 414, 418, 419, 488, 489, 490,
		702, 780, 783, 785, 787, 795, 805, 830, 873, 899, 909, 921, 923, 924, 925, 926, 1217, 1218, 1222, 1501, 4021, 4022, 4032,
	}},
	{ClassSpace, StatusPermanent, []int{
		623, 624, 625, 633, 640, 826, 827, 889, 902, 903, 904, 905, 1601, 1602, 1603, 1604, 1605, 1606,
	}},
	{ClassSchema, StatusPermanent, []int{
		241, 283, 284, 285, 709, 723, 744, 910, 1225, 1226, 1227, 1231, 1232, 311,
	}},
	{ClassApplication, StatusPermanent, []int{
		208, 242, 244, 261, 269, 271, 272, 738, 739, 823, 829, 871, 874, 876, 877, 878, 879, 880, 882, 883, 884, 885, 886, 892, 897,
		1233, 4110, 4257, 4259, 4262, 4395, 4516, 4517, 4518, 4519, 4520, 4521, 1101, 1102, 1103, 1701, 1702, 1704,
	}},
	{ClassInternal, StatusPermanent, []int{
		202, 207, 209, 220, 229, 230, 232, 238, 240, 253, 276, 277, 278, 287, 290, 292, 294, 295, 298, 416, 706, 781, 782, 809, 812,
		833, 887, 888, 890, 896, 901, 1237, 4349, 4350,
	}},
	{ClassUnknownOutcome, StatusUnknown, []int{4008, 4009, 4012}},
}

// Codes that a caller's own conditions may use: see Condition.
const (
	minUserCode = 6000
	maxUserCode = 6999
)

var byCode = func() map[int]family {
	m := map[int]family{}
	for _, f := range families {
		for _, code := range f.codes {
			if _, twice := m[code]; twice {
				panic("ndb: an error code stands in two families")
			}
			m[code] = f
		}
	}
	return m
}()

// classify returns an error for a code that came with a refusal, so that
// nothing was committed.
func classify(code int) *Error {
	if f, ok := byCode[code]; ok {
		return &Error{Code: code, Status: f.status, Classification: f.class}
	}
	if code >= minUserCode && code <= maxUserCode {
		return &Error{Code: code, Status: StatusPermanent, Classification: ClassCondition}
	}
	return &Error{Code: code, Status: StatusPermanent, Classification: ClassUnknown}
}

// meanings are for people: the codes that one meets.
var meanings = map[int]string{
	203:  "the data node is not started",
	208:  "the key is empty",
	219:  "no transaction record is free",
	233:  "no operation record is free; MaxNoOfConcurrentOperations is too small",
	241:  "the table has another version",
	245:  "too many scans are active",
	261:  "too many operations in one transaction",
	266:  "waited too long for a lock, perhaps a deadlock",
	270:  "a data node is shutting down or failed",
	274:  "a scan waited too long for a lock",
	280:  "the data node is shutting down",
	281:  "the cluster is shutting down",
	283:  "the table is being dropped",
	284:  "there is no such table",
	286:  "a data node failed",
	296:  "a scan was idle for too long",
	299:  "another client has the cluster in single user mode",
	410:  "the redo log is full",
	625:  "DataMemory is full",
	626:  "no row has the key",
	630:  "a row with the key exists",
	635:  "the row is locked",
	723:  "there is no such table or index",
	744:  "text is not valid in the column's character set",
	827:  "DataMemory is full",
	829:  "a value is malformed or too long",
	839:  "a NOT NULL column has no value",
	840:  "NULL for a NOT NULL column",
	879:  "there is no such column",
	893:  "a row with the same unique key exists",
	897:  "a column of the primary key cannot be updated",
	1204: "the distribution of the table changed",
	1218: "the send buffer to this client is full",
	1226: "the table is being dropped",
	1233: "the table is read only",
	4008: "no answer from the cluster",
	4009: "the whole cluster was lost",
	4010: "the coordinator failed",
	4012: "no answer in time",
	4028: "the data node of a scan failed",
	4031: "the coordinator failed",
	4115: "committed, but the values read are lost",
	4119: "the data node of a read failed",
	4395: "there is no such column",
}

func codeMeaning(code int) string { return meanings[code] }

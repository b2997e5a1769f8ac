package dictinfo

import (
	"encoding/binary"
	"fmt"
)

// Keys of the properties of a hash map. Its stream has no end mark.
const (
	keyMapName    = 1
	keyMapBytes   = 2
	keyMapBuckets = 3 // 16-bit little endian numbers of fragments
	keyMapID      = 153
	keyMapVersion = 154

	bucketBytes = 2
)

// HashMap maps hash values of distribution keys to fragments.
type HashMap struct {
	Name    string
	ID      uint32
	Version uint32
	Buckets []uint16 // fragment of each bucket; never empty once decoded
}

// Fragment returns the fragment of a hash value.
func (m *HashMap) Fragment(hash uint32) uint16 { return m.Buckets[hash%uint32(len(m.Buckets))] }

// DecodeHashMap reads the description of a hash map. It keeps no reference to
// src; its errors wrap ErrMalformed.
func DecodeHashMap(src []byte) (*HashMap, error) {
	m := &HashMap{}
	var size uint32
	var buckets []byte
	for len(src) > 0 {
		p, rest, err := nextProperty(src)
		if err != nil {
			return nil, err
		}
		src = rest
		switch p.key {
		case keyMapName:
			err = p.asString(&m.Name)
		case keyMapBytes:
			err = p.asWord(&size)
		case keyMapBuckets:
			err = p.asData(&buckets)
		case keyMapID:
			err = p.asWord(&m.ID)
		case keyMapVersion:
			err = p.asWord(&m.Version)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(buckets) == 0 || len(buckets)%bucketBytes != 0 || uint64(size) != uint64(len(buckets)) {
		return nil, fmt.Errorf("%w: hash map %q says %d bytes, has %d", ErrMalformed, m.Name, size, len(buckets))
	}
	m.Buckets = make([]uint16, len(buckets)/bucketBytes)
	for i := range m.Buckets {
		m.Buckets[i] = binary.LittleEndian.Uint16(buckets[i*bucketBytes:])
	}
	return m, nil
}

// AppendTo appends the description to dst, as the dictionary of a data node
// does.
func (m *HashMap) AppendTo(dst []byte) []byte {
	buckets := make([]byte, 0, len(m.Buckets)*bucketBytes)
	for _, b := range m.Buckets {
		buckets = binary.LittleEndian.AppendUint16(buckets, b)
	}
	dst = appendString(dst, keyMapName, m.Name)
	dst = appendWord(dst, keyMapBytes, uint32(len(buckets)))
	dst = appendWord(dst, keyMapID, m.ID)
	dst = appendWord(dst, keyMapVersion, m.Version)
	return appendBinary(dst, keyMapBuckets, buckets)
}

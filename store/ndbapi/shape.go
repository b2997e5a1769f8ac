package ndbapi

import (
	"database/sql"
	"database/sql/driver"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"gorm.io/gorm/schema"

	"github.com/ndbgate/ndbgate/models"
)

// shape is what the tags of a struct say of its table. It does not change.
type shape struct {
	typ    reflect.Type
	table  string
	fields []field
	key    []int // places in fields of the primary key
	all    []int
	byName map[string]int // Go field name → place in fields

	textPointers, datePointers int // fields of type *string and *models.Date
}

// field is a field of a struct that has a column.
type field struct {
	name     string // of the Go field
	property string // JSON name, or that of the field
	column   string
	index    []int // as of reflect.StructField
	kind     kind
	pointer  bool // nil is NULL
	key      bool
}

// kind is how a Go type goes into a column.
type kind uint8

const (
	kindInt kind = iota + 1
	kindUint
	kindFloat
	kindBool
	kindText
	kindBytes
	kindDate // models.Date
	kindTime
	kindValuer // implements driver.Valuer and, by its pointer, sql.Scanner
)

var (
	dateType    = reflect.TypeFor[models.Date]()
	stringType  = reflect.TypeFor[string]()
	timeType    = reflect.TypeFor[time.Time]()
	valuerType  = reflect.TypeFor[driver.Valuer]()
	scannerType = reflect.TypeFor[sql.Scanner]()
)

// kindOfType returns 0 for a type that no column can hold.
func kindOfType(t reflect.Type) kind {
	switch {
	case t == dateType:
		return kindDate
	case t == timeType:
		return kindTime
	case t.Implements(valuerType) && reflect.PointerTo(t).Implements(scannerType):
		return kindValuer
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return kindInt
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return kindUint
	case reflect.Float32, reflect.Float64:
		return kindFloat
	case reflect.Bool:
		return kindBool
	case reflect.String:
		return kindText
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return kindBytes
		}
	}
	return 0
}

// newShape reads the tags as GORM does. Of these, the names of table and
// columns and the primary key count.
func newShape(t reflect.Type) (*shape, error) {
	parsed, err := schema.Parse(reflect.New(t).Interface(), &sync.Map{}, schema.NamingStrategy{})
	if err != nil {
		return nil, fmt.Errorf("read the columns of %v: %w", t, err)
	}
	s := &shape{typ: t, table: parsed.Table, byName: map[string]int{}}
	for _, parsedField := range parsed.Fields {
		if parsedField.DBName == "" {
			continue
		}
		f, err := newField(parsedField)
		if err != nil {
			return nil, fmt.Errorf("type %v: %w", t, err)
		}
		place := len(s.fields)
		s.fields = append(s.fields, f)
		s.byName[f.name] = place
		s.all = append(s.all, place)
		if f.key {
			s.key = append(s.key, place)
		}
		s.countPointers(parsedField.FieldType)
	}
	if len(s.key) == 0 {
		return nil, fmt.Errorf("type %v has no primary key", t)
	}
	return s, nil
}

func newField(parsed *schema.Field) (field, error) {
	f := field{
		name: parsed.Name, property: parsed.Name, column: parsed.DBName, index: parsed.StructField.Index, key: parsed.PrimaryKey,
	}
	if name, _, _ := strings.Cut(parsed.Tag.Get("json"), ","); name != "" && name != "-" {
		f.property = name
	}
	t := parsed.FieldType
	if t.Kind() == reflect.Pointer {
		f.pointer, t = true, t.Elem()
	}
	f.kind = kindOfType(t)
	switch {
	case f.kind == 0:
		return f, fmt.Errorf("field %s: no column holds a %v", f.name, parsed.FieldType)
	case parsed.Serializer != nil:
		return f, fmt.Errorf("field %s: serializers are not supported", f.name)
	case slices.ContainsFunc(f.index, func(i int) bool { return i < 0 }):
		return f, fmt.Errorf("field %s: embedded pointers are not supported", f.name)
	case f.key && f.pointer:
		return f, fmt.Errorf("field %s: a primary key is never NULL", f.name)
	}
	return f, nil
}

func (s *shape) countPointers(t reflect.Type) {
	switch t {
	case reflect.PointerTo(stringType):
		s.textPointers++
	case reflect.PointerTo(dateType):
		s.datePointers++
	}
}

// of is the field's place in a struct.
func (f *field) of(row reflect.Value) reflect.Value {
	if len(f.index) == 1 {
		return row.Field(f.index[0])
	}
	return row.FieldByIndex(f.index)
}

// withKey finds the named fields, and those of the key. No name means all.
func (s *shape) withKey(names []string) ([]int, error) {
	if len(names) == 0 {
		return s.all, nil
	}
	places := slices.Clone(s.key)
	for _, name := range names {
		i, ok := s.byName[name]
		if !ok {
			return nil, fmt.Errorf("type %v has no field %s with a column", s.typ, name)
		}
		if !slices.Contains(places, i) {
			places = append(places, i)
		}
	}
	return places, nil
}

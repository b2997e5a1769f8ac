package ndbtest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// This file reads CREATE TABLE statements. It understands what tables of NDB
// need; foreign keys, generated columns, partitions and comments with meaning
// are errors or passed over, as GAPS.md says.

type parser struct {
	tokens []token
	pos    int
}

type tokenKind uint8

const (
	tokenWord tokenKind = iota
	tokenName           // in backquotes
	tokenText           // in quotes
	tokenNumber
	tokenMark
	tokenEnd
)

type token struct {
	kind tokenKind
	text string
}

// parseCreateTable returns the table that the statement describes.
func parseCreateTable(sql string) (def *TableDef, ifNotExists bool, err error) {
	tokens, err := tokenize(sql)
	if err != nil {
		return nil, false, err
	}
	p := &parser{tokens: tokens}
	if !p.words("CREATE", "TABLE") {
		return nil, false, p.unexpected("CREATE TABLE")
	}
	ifNotExists = p.words("IF", "NOT", "EXISTS")
	def = &TableDef{}
	if err := p.tableName(def); err != nil {
		return nil, false, err
	}
	if err := p.body(def); err != nil {
		return nil, false, err
	}
	collation, err := p.tableOptions()
	if err != nil {
		return nil, false, err
	}
	for i := range def.Columns {
		if def.Columns[i].Collation == "" {
			def.Columns[i].Collation = collation
		}
	}
	return def, ifNotExists, nil
}

func tokenize(sql string) ([]token, error) {
	var tokens []token
	for i := 0; i < len(sql); {
		c := sql[i]
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
		case strings.HasPrefix(sql[i:], "--") || c == '#':
			line, _, _ := strings.Cut(sql[i:], "\n")
			i += len(line)
		case strings.HasPrefix(sql[i:], "/*"):
			_, rest, _ := strings.Cut(sql[i:], "*/")
			i = len(sql) - len(rest)
		case c == '`' || c == '\'' || c == '"':
			text, n, err := quoted(sql[i:])
			if err != nil {
				return nil, err
			}
			kind := tokenText
			if c == '`' {
				kind = tokenName
			}
			tokens = append(tokens, token{kind, text})
			i += n
		case isWordByte(c):
			start := i
			for i < len(sql) && (isWordByte(sql[i]) || isNumber(sql[start:i]) && sql[i] == '.') {
				i++
			}
			kind := tokenWord
			if isNumber(sql[start:i]) {
				kind = tokenNumber
			}
			tokens = append(tokens, token{kind, sql[start:i]})
		default:
			tokens = append(tokens, token{tokenMark, string(c)})
			i++
		}
	}
	return append(tokens, token{kind: tokenEnd}), nil
}

func isWordByte(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

func isNumber(s string) bool {
	return s != "" && strings.Trim(s, "0123456789.") == ""
}

// quoted reads a text in quotes, where a doubled quote or one after a backslash
// is part of it.
func quoted(s string) (text string, n int, err error) {
	quote := s[0]
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && quote != '`' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		case s[i] == quote && i+1 < len(s) && s[i+1] == quote:
			i++
			b.WriteByte(quote)
		case s[i] == quote:
			return b.String(), i + 1, nil
		default:
			b.WriteByte(s[i])
		}
	}
	return "", 0, fmt.Errorf("text without end: %s", s)
}

func (p *parser) peek() token { return p.tokens[p.pos] }

func (p *parser) next() token {
	t := p.tokens[p.pos]
	if t.kind != tokenEnd {
		p.pos++
	}
	return t
}

func (p *parser) unexpected(want string) error {
	t := p.peek()
	if t.kind == tokenEnd {
		return fmt.Errorf("statement ends where %s should be", want)
	}
	return fmt.Errorf("%q where %s should be", t.text, want)
}

// words takes the words if they come next.
func (p *parser) words(words ...string) bool {
	for i, w := range words {
		if p.pos+i >= len(p.tokens) {
			return false
		}
		if t := p.tokens[p.pos+i]; t.kind != tokenWord || !strings.EqualFold(t.text, w) {
			return false
		}
	}
	p.pos += len(words)
	return true
}

func (p *parser) mark(m string) bool {
	if t := p.peek(); t.kind == tokenMark && t.text == m {
		p.pos++
		return true
	}
	return false
}

func (p *parser) name() (string, error) {
	if t := p.peek(); t.kind == tokenWord || t.kind == tokenName {
		p.pos++
		return t.text, nil
	}
	return "", p.unexpected("a name")
}

func (p *parser) tableName(def *TableDef) (err error) {
	if def.Database, err = p.name(); err != nil {
		return err
	}
	if !p.mark(".") {
		return fmt.Errorf("table %s has no database in front of its name", def.Database)
	}
	def.Name, err = p.name()
	return err
}

// body reads columns and indexes.
func (p *parser) body(def *TableDef) error {
	if !p.mark("(") {
		return p.unexpected("(")
	}
	for {
		if err := p.element(def); err != nil {
			return err
		}
		if p.mark(")") {
			return nil
		}
		if !p.mark(",") {
			return p.unexpected(", or )")
		}
	}
}

func (p *parser) element(def *TableDef) error {
	if p.words("CONSTRAINT") && p.peek().kind != tokenWord {
		p.next()
	}
	switch {
	case p.words("PRIMARY", "KEY"):
		hash := p.using()
		columns, err := p.columnList()
		def.PrimaryKey, def.HashOnly = columns, p.using() || hash
		return err
	case p.words("UNIQUE"):
		if !p.words("KEY") {
			p.words("INDEX")
		}
		return p.index(def, true)
	case p.words("KEY"), p.words("INDEX"):
		return p.index(def, false)
	case p.words("FOREIGN"), p.words("FULLTEXT"), p.words("SPATIAL"), p.words("CHECK"):
		return fmt.Errorf("foreign keys, checks, full text and spatial indexes are not known")
	}
	return p.column(def)
}

func (p *parser) index(def *TableDef, unique bool) error {
	index := IndexDef{Unique: unique}
	if t := p.peek(); t.kind != tokenMark {
		index.Name, _ = p.name()
	}
	hash := p.using()
	columns, err := p.columnList()
	if err != nil {
		return err
	}
	index.Columns, index.HashOnly = columns, p.using() || hash
	if index.Name == "" {
		index.Name = freeIndexName(def, columns[0])
	}
	def.Indexes = append(def.Indexes, index)
	return nil
}

// freeIndexName names an index after its first column, as MySQL does.
func freeIndexName(def *TableDef, column string) string {
	name := column
	for i := 2; slices.ContainsFunc(def.Indexes, func(d IndexDef) bool { return d.Name == name }); i++ {
		name = column + "_" + strconv.Itoa(i)
	}
	return name
}

// using tells whether USING HASH comes next.
func (p *parser) using() bool {
	if !p.words("USING") {
		return false
	}
	return strings.EqualFold(p.next().text, "HASH")
}

func (p *parser) columnList() ([]string, error) {
	if !p.mark("(") {
		return nil, p.unexpected("(")
	}
	var columns []string
	for {
		name, err := p.name()
		if err != nil {
			return nil, err
		}
		columns = append(columns, name)
		if !p.words("ASC") && p.words("DESC") {
			return nil, fmt.Errorf("descending indexes are not known")
		}
		if p.mark(")") {
			return columns, nil
		}
		if !p.mark(",") {
			return nil, p.unexpected(", or )")
		}
	}
}

func (p *parser) column(def *TableDef) error {
	name, err := p.name()
	if err != nil {
		return err
	}
	c := ColumnDef{Name: name}
	if c.Type, err = p.columnType(); err != nil {
		return err
	}
	if err := p.columnOptions(def, &c); err != nil {
		return fmt.Errorf("column %q: %w", name, err)
	}
	def.Columns = append(def.Columns, c)
	return nil
}

// columnType returns the type as text.
func (p *parser) columnType() (string, error) {
	name, err := p.name()
	if err != nil {
		return "", err
	}
	if p.mark("(") {
		var args []string
		for !p.mark(")") {
			if p.peek().kind == tokenEnd {
				return "", p.unexpected(")")
			}
			if !p.mark(",") {
				args = append(args, strings.Map(withoutMarks, p.next().text))
			}
		}
		name += "(" + strings.Join(args, ",") + ")"
	}
	for _, word := range []string{"UNSIGNED", "SIGNED", "PRECISION"} {
		if p.words(word) {
			name += " " + word
		}
	}
	return name, nil
}

// withoutMarks keeps texts of ENUM from looking like the end of the type.
func withoutMarks(r rune) rune {
	if r == ',' || r == '(' || r == ')' {
		return '_'
	}
	return r
}

func (p *parser) columnOptions(def *TableDef, c *ColumnDef) (err error) {
	for {
		switch {
		case p.words("NOT", "NULL"):
			c.NotNull = true
		case p.words("NULL"):
		case p.words("PRIMARY", "KEY"), p.words("KEY"):
			def.PrimaryKey = append(def.PrimaryKey, c.Name)
		case p.words("UNIQUE"):
			p.words("KEY")
			def.Indexes = append(def.Indexes, IndexDef{Name: freeIndexName(def, c.Name), Columns: []string{c.Name}, Unique: true})
		case p.words("AUTO_INCREMENT"):
			c.AutoIncrement = true
		case p.words("CHARACTER", "SET"), p.words("CHARSET"), p.words("COLLATE"):
			c.Collation, err = p.name()
		case p.words("COMMENT"), p.words("STORAGE"), p.words("COLUMN_FORMAT"):
			p.next()
		case p.words("DEFAULT"):
			c.Default, err = p.defaultValue()
		case p.words("ON", "UPDATE"):
			err = p.now()
		default:
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// defaultValue returns the default. That of the current time is none: the SQL
// node fills it in.
func (p *parser) defaultValue() (any, error) {
	switch t := p.peek(); {
	case p.words("NULL"):
		return nil, nil
	case p.words("TRUE"):
		return 1, nil
	case p.words("FALSE"):
		return 0, nil
	case t.kind == tokenText, t.kind == tokenNumber:
		return p.next().text, nil
	case p.mark("-"):
		return "-" + p.next().text, nil
	}
	return nil, p.now()
}

func (p *parser) now() error {
	if !p.words("CURRENT_TIMESTAMP") && !p.words("NOW") {
		return p.unexpected("a value")
	}
	if p.mark("(") {
		for !p.mark(")") && p.peek().kind != tokenEnd {
			p.next()
		}
	}
	return nil
}

// tableOptions returns the collation, or the character set, of the table.
func (p *parser) tableOptions() (collation string, err error) {
	charset := ""
	for {
		p.mark(",")
		p.words("DEFAULT")
		switch {
		case p.peek().kind == tokenEnd, p.mark(";"):
			if collation == "" {
				collation = charset
			}
			return collation, nil
		case p.words("CHARSET"), p.words("CHARACTER", "SET"):
			p.mark("=")
			charset, err = p.name()
		case p.words("COLLATE"):
			p.mark("=")
			collation, err = p.name()
		case p.words("ENGINE"), p.words("AUTO_INCREMENT"), p.words("COMMENT"), p.words("ROW_FORMAT"), p.words("MAX_ROWS"):
			p.mark("=")
			p.next()
		default:
			return "", p.unexpected("an option of the table")
		}
		if err != nil {
			return "", err
		}
	}
}

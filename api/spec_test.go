package api

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/ndbgate/ndbgate"
	"github.com/ndbgate/ndbgate/models"
)

func TestContract_AgreesWithTheRoutes(t *testing.T) {
	var documented []string
	for path, item := range loadContract(t).at("paths").members() {
		// Swagger UI resolves no references in the parameters of a path, so
		// that a path has nothing but its methods.
		for method := range item.members() {
			documented = append(documented, strings.ToUpper(method)+" "+path)
		}
	}
	var routed []string
	err := chi.Walk(newBench(t).router.(chi.Routes), func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		if method != http.MethodHead && !strings.HasPrefix(route, "/docs") && route != "/" {
			routed = append(routed, method+" "+route)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	sameNames(t, "calls", routed, documented)
}

func TestContract_HasEveryProblemCodeAndItsStatus(t *testing.T) {
	c := loadContract(t)
	var want, rows []string
	for name, entry := range codes {
		want = append(want, string(name))
		rows = append(rows, fmt.Sprintf("%s %d", name, entry.status))
	}
	sameNames(t, "codes in ProblemCode", want, c.at("components", "schemas", "ProblemCode", "enum").texts())

	var described []string
	table := regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| ([0-9]+) \\|")
	for _, row := range table.FindAllStringSubmatch(c.at("info", "description").text(), -1) {
		described = append(described, row[1]+" "+row[2])
	}
	sameNames(t, "codes in the description", rows, described)
}

func TestContract_DescribesTheModel(t *testing.T) {
	c := loadContract(t)
	var names []string
	for _, p := range models.EmployeeProperties() {
		names = append(names, p.Name)
		for _, schema := range []string{"Employee", "EmployeeCreate", "EmployeePatch", "EmployeeUpdate", "ListedEmployee"} {
			takesNull := c.at("components", "schemas", schema, "properties", p.Name).validate(nil) == nil
			if takesNull != p.Nullable {
				t.Errorf("%s.%s: takes null: got %t, want %t", schema, p.Name, takesNull, p.Nullable)
			}
		}
	}
	for _, schema := range []string{"Employee", "EmployeeCreate", "EmployeePatch", "EmployeeUpdate", "ListedEmployee"} {
		sameNames(t, "members of "+schema, names, slices.Collect(c.at("components", "schemas", schema, "properties").names()))
	}
	sameNames(t, "required members of Employee", names, c.at("components", "schemas", "Employee", "required").texts())

	for path, others := range map[string][]string{
		"/v1/employees":        {"filter", "order_by", "fields", "page_size", "page_token", "count", "explain"},
		"/v1/employees:export": {"filter", "summary"},
	} {
		var parameters []string
		for parameter := range c.at("paths", path, "get", "parameters").items() {
			if parameter.at("in").text() == "query" {
				parameters = append(parameters, parameter.at("name").text())
			}
		}
		sameNames(t, "query parameters of "+path, slices.Concat(names, others), parameters)
	}
}

func TestContract_SchemasAreSound(t *testing.T) {
	for name, schema := range loadContract(t).at("components", "schemas").members() {
		for example := range schema.at("examples").items() {
			if err := schema.validate(example.value); err != nil {
				t.Errorf("example of %s: %v", name, err)
			}
		}
	}
}

func TestServeSpec_ServesTheEmbeddedDocument(t *testing.T) {
	w := newBench(t).do(request{method: "GET", path: "/openapi.yaml"})
	if w.Code != http.StatusOK || !bytes.Equal(w.Body.Bytes(), ndbgate.OpenAPI) {
		t.Errorf("got %d and %d bytes, want 200 and the %d bytes of openapi.yaml", w.Code, w.Body.Len(), len(ndbgate.OpenAPI))
	}
}

func TestDocs_NeedsNoOtherHost(t *testing.T) {
	b := newBench(t)
	for _, path := range []string{"/", "/docs"} {
		if w := b.do(request{method: "GET", path: path}); w.Header().Get("Location") != "/docs/" {
			t.Errorf("%s: got %d to %q, want a redirect to /docs/", path, w.Code, w.Header().Get("Location"))
		}
	}
	page := b.do(request{method: "GET", path: "/docs/"})
	if page.Code != http.StatusOK || !strings.Contains(page.Body.String(), "/openapi.yaml") {
		t.Fatalf("/docs/: got %d %s", page.Code, page.Body)
	}
	if policy := page.Header().Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") {
		t.Errorf("Content-Security-Policy: got %q", policy)
	}
	links := regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(page.Body.String(), -1)
	if len(links) < 3 {
		t.Errorf("/docs/: got %d links, want at least a style and two scripts", len(links))
	}
	for _, link := range links {
		if !strings.HasPrefix(link[1], "/docs/") {
			t.Errorf("/docs/ loads %s", link[1])
			continue
		}
		plain := b.do(request{method: "GET", path: link[1]})
		zipped := b.do(request{method: "GET", path: link[1], headers: []string{"Accept-Encoding: gzip"}})
		if plain.Code != http.StatusOK || plain.Body.Len() == 0 || !bytes.Equal(plain.Body.Bytes(), unzipped(t, zipped)) {
			t.Errorf("%s: got %d with %d bytes, and compressed %d", link[1], plain.Code, plain.Body.Len(), zipped.Code)
		}
	}
}

func unzipped(t *testing.T, w *httptest.ResponseRecorder) []byte {
	t.Helper()
	if w.Header().Get("Content-Encoding") != "gzip" {
		return w.Body.Bytes()
	}
	z, err := gzip.NewReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func sameNames(t *testing.T, what string, inCode, inDocument []string) {
	t.Helper()
	for _, name := range inCode {
		if !slices.Contains(inDocument, name) {
			t.Errorf("%s: openapi.yaml lacks %q", what, name)
		}
	}
	for _, name := range inDocument {
		if !slices.Contains(inCode, name) {
			t.Errorf("%s: openapi.yaml has %q, which the code has not", what, name)
		}
	}
}

// contract is openapi.yaml as JSON values.
type contract struct {
	t        testing.TB
	root     any
	compiler *jsonschema.Compiler
}

const contractURL = "file:///openapi.yaml"

func loadContract(t testing.TB) *contract {
	t.Helper()
	var tree any
	if err := yaml.Unmarshal(ndbgate.OpenAPI, &tree); err != nil {
		t.Fatal(err)
	}
	c := &contract{t: t, root: viaJSON(t, tree), compiler: jsonschema.NewCompiler()}
	c.compiler.AssertFormat()
	for bits, name := range map[int]string{32: "int32", 64: "int64"} {
		c.compiler.RegisterFormat(&jsonschema.Format{Name: name, Validate: fitsBits(bits)})
	}
	if err := c.compiler.AddResource(contractURL, c.root); err != nil {
		t.Fatal(err)
	}
	return c
}

// viaJSON makes of v what decoding its JSON gives, with numbers kept exact.
func viaJSON(t testing.TB, v any) any {
	t.Helper()
	encoded, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := jsonschema.UnmarshalJSON(bytes.NewReader(encoded))
	if err != nil {
		t.Fatal(err)
	}
	return decoded
}

func fitsBits(bits int) func(v any) error {
	return func(v any) error {
		n, ok := v.(json.Number)
		if !ok {
			return nil
		}
		_, err := strconv.ParseInt(n.String(), 10, bits)
		return err
	}
}

// at goes down from the root; see place.at.
func (c *contract) at(names ...string) place {
	return place{c: c, value: c.root}.at(names...)
}

// place is a value in the contract and where it is. The zero value of value
// stands for what the contract does not have.
type place struct {
	c       *contract
	pointer string
	value   any
}

// at goes down member by member and follows references on its way, not at its
// end.
func (p place) at(names ...string) place {
	p.c.t.Helper()
	for _, name := range names {
		p = p.resolved()
		object, _ := p.value.(map[string]any)
		token := strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
		p = place{c: p.c, pointer: p.pointer + "/" + token, value: object[name]}
	}
	return p
}

// resolved follows the reference that p is, if it is one.
func (p place) resolved() place {
	p.c.t.Helper()
	object, _ := p.value.(map[string]any)
	reference, ok := object["$ref"].(string)
	if !ok {
		return p
	}
	names := strings.Split(strings.TrimPrefix(reference, "#/"), "/")
	target := p.c.at(names...).resolved()
	if !target.exists() {
		p.c.t.Fatalf("%s: there is no %s", p.pointer, reference)
	}
	return target
}

func (p place) exists() bool { return p.value != nil }

// members iterates over an object in the order of its names; an absent one has
// none.
func (p place) members() iter.Seq2[string, place] {
	return func(yield func(string, place) bool) {
		object, _ := p.resolved().value.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(object)) {
			if !yield(name, p.at(name)) {
				return
			}
		}
	}
}

func (p place) names() iter.Seq[string] {
	return func(yield func(string) bool) {
		for name := range p.members() {
			if !yield(name) {
				return
			}
		}
	}
}

// items iterates over an array; an absent one has none.
func (p place) items() iter.Seq[place] {
	return func(yield func(place) bool) {
		array, _ := p.value.([]any)
		for i, value := range array {
			item := place{c: p.c, pointer: p.pointer + "/" + strconv.Itoa(i), value: value}
			if !yield(item) {
				return
			}
		}
	}
}

// text is a string or a number as text, or empty.
func (p place) text() string {
	switch value := p.value.(type) {
	case string:
		return value
	case json.Number:
		return value.String()
	default:
		return ""
	}
}

func (p place) texts() []string {
	var texts []string
	for item := range p.items() {
		texts = append(texts, item.text())
	}
	return texts
}

// into decodes p into what target points to; a member that target does not
// have is an error.
func (p place) into(target any) {
	p.c.t.Helper()
	encoded, err := json.Marshal(p.resolved().value)
	if err != nil {
		p.c.t.Fatal(err)
	}
	dec := json.NewDecoder(bytes.NewReader(encoded))
	dec.DisallowUnknownFields()
	if err := dec.Decode(target); err != nil {
		p.c.t.Fatalf("%s: %v", p.pointer, err)
	}
}

// validate checks v against the schema at p.
func (p place) validate(v any) error {
	p.c.t.Helper()
	if !p.exists() {
		return errors.New(p.pointer + ": there is no schema")
	}
	schema, err := p.c.compiler.Compile(contractURL + "#" + (&url.URL{Path: p.pointer}).EscapedPath())
	if err != nil {
		p.c.t.Fatal(err)
	}
	return schema.Validate(v)
}

// validateText checks a parameter or header, whose text may mean an integer or a
// boolean.
func (p place) validateText(text string) error {
	if b, err := strconv.ParseBool(text); p.at("type").text() == "boolean" && err == nil {
		return p.validate(b)
	}
	if n := json.Number(text); p.at("type").text() == "integer" && isInteger(n) {
		return p.validate(n)
	}
	return p.validate(text)
}

func isInteger(n json.Number) bool {
	_, err := n.Int64()
	return err == nil
}

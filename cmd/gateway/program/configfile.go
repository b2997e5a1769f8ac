package program

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxFileBytes is the longest configuration file.
const maxFileBytes = 1 << 20

// parseFile reads the settings of a YAML file; no path means no settings.
func parseFile(path *given) (map[string]given, []string) {
	if path == nil || path.value == "" {
		return nil, nil
	}
	file, problems, err := readFile(path.value)
	if err != nil {
		return nil, []string{findSetting("config").problem(path.value, path.origin, err)}
	}
	return file, problems
}

func readFile(path string) (map[string]given, []string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, withoutPath(err)
	}
	defer f.Close() // only read: its error tells nothing

	limited := &io.LimitedReader{R: f, N: maxFileBytes + 1}
	decoder := yaml.NewDecoder(limited)
	var document yaml.Node
	err = decoder.Decode(&document)
	if limited.N == 0 {
		return nil, nil, fmt.Errorf("it is longer than %d bytes", maxFileBytes)
	}
	if errors.Is(err, io.EOF) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, yamlError(err)
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, nil, errors.New("it has more than one document")
	}
	root := document.Content[0]
	if root.Kind != yaml.MappingNode {
		return nil, nil, errors.New("it is no list of names with values")
	}
	file, problems := readMapping(path, root)
	return file, problems, nil
}

// withoutPath spares the message the path that it names already.
func withoutPath(err error) error {
	if pathError, ok := errors.AsType[*os.PathError](err); ok {
		return pathError.Err
	}
	return err
}

// yamlError keeps what the parser says, which is a line and a rule. It quotes
// from the file only for an unknown anchor, which may be a piece of a DSN.
func yamlError(err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if before, _, ok := strings.Cut(text, "unknown anchor"); ok {
		text = before + "unknown anchor"
	}
	return errors.New(text)
}

func readMapping(path string, root *yaml.Node) (map[string]given, []string) {
	file := map[string]given{}
	var problems []string
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, node := root.Content[i], root.Content[i+1]
		origin := fmt.Sprintf("file %s line %d", path, key.Line)
		s := findSetting(key.Value)
		if s == nil || len(s.types) == 0 {
			problems = append(problems, fmt.Sprintf("unknown key %s (%s)%s", quoteHarmless(key.Value), origin, hint(key.Value, "", fileKeys())))
			continue
		}
		if _, twice := file[s.name]; twice {
			problems = append(problems, fmt.Sprintf("%s (%s): it is there twice", s.name, origin))
			continue
		}
		value, err := s.fromYAML(node)
		if err != nil {
			problems = append(problems, s.problem(value, origin, err))
			continue
		}
		file[s.name] = given{value: value, origin: origin}
	}
	return file, problems
}

func fileKeys() []string {
	return slices.DeleteFunc(settingNames(), func(name string) bool { return len(findSetting(name).types) == 0 })
}

// fromYAML returns the value as flags write it. On an error it returns what
// stands in the file.
func (s *setting) fromYAML(node *yaml.Node) (string, error) {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	if node.Kind == yaml.SequenceNode && s.list != "" {
		var values []string
		for _, item := range node.Content {
			value, err := s.scalar(item)
			if err != nil {
				return value, err
			}
			values = append(values, value)
		}
		return strings.Join(values, s.list), nil
	}
	return s.scalar(node)
}

func (s *setting) scalar(node *yaml.Node) (string, error) {
	if node.Kind == yaml.ScalarNode && slices.Contains(s.types, node.Tag) {
		return node.Value, nil
	}
	return node.Value, fmt.Errorf("it is %s", yamlTypeName(node))
}

func yamlTypeName(node *yaml.Node) string {
	switch {
	case node.Kind == yaml.SequenceNode:
		return "a list"
	case node.Kind == yaml.MappingNode:
		return "a list of names with values"
	case node.Tag == "!!null":
		return `nothing at all, and "" would be the empty value`
	case node.Tag == yamlText:
		return "a text"
	case node.Tag == yamlWhole:
		return "a whole number"
	case node.Tag == "!!float":
		return "a number"
	case node.Tag == yamlBool:
		return "true or false"
	default:
		return "of another type"
	}
}

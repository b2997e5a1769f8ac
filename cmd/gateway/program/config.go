package program

import (
	"errors"
	"fmt"
	"strings"
)

// errHelp asks for the help text instead of a Config.
var errHelp = errors.New("help asked for")

// given is the value of a setting as someone wrote it.
type given struct {
	value  string
	origin string
}

// Load makes a Config of the arguments, the environment, the file that one of
// those names, and the defaults, in this order of strength. Its error is a
// *ConfigError that tells all that is wrong, or errHelp.
//
// getenv tells an empty variable from one that is not set, as os.LookupEnv.
// Variables that are no setting are nobody's mistake: Kubernetes adds its own
// with the same prefix.
func Load(args []string, getenv func(string) (string, bool)) (Config, error) {
	flags, problems, err := parseFlags(args)
	if err != nil {
		return Config{}, err
	}
	env := environment(getenv)
	file, fileProblems := parseFile(firstOf("config", flags, env))
	problems = append(problems, fileProblems...)

	cfg := Config{origins: map[string]string{}}
	for _, s := range settings {
		if err := s.parse(&cfg, s.fallback); err != nil {
			panic(fmt.Sprintf("default of setting %s: %q", s.name, s.fallback))
		}
		g := firstOf(s.name, flags, env, file)
		if g == nil {
			continue
		}
		if err := s.parse(&cfg, g.value); err != nil {
			problems = append(problems, s.problem(g.value, g.origin, err))
			continue
		}
		cfg.origins[s.name] = g.origin
	}
	problems = append(problems, cfg.check()...)
	if len(problems) > 0 {
		return Config{}, &ConfigError{Problems: problems}
	}
	return cfg, nil
}

// Validate returns nil or a *ConfigError that names every wrong setting.
func (c *Config) Validate() error {
	if problems := c.check(); len(problems) > 0 {
		return &ConfigError{Problems: problems}
	}
	return nil
}

func (c *Config) check() []string {
	var problems []string
	for _, s := range settings {
		if s.check == nil {
			continue
		}
		if err := s.check(c); err != nil {
			problems = append(problems, s.problem(s.show(c), c.origin(s.name), err))
		}
	}
	return append(problems, c.checkReach()...)
}

// origin tells where a setting came from.
func (c *Config) origin(name string) string {
	if origin, ok := c.origins[name]; ok {
		return origin
	}
	return "default"
}

func (s *setting) problem(value, origin string, err error) string {
	shown := " " + quoteHarmless(value)
	if s.secret || s.guarded {
		shown = ""
	}
	detail := ""
	if err != errWant {
		detail = err.Error() + "; "
	}
	return fmt.Sprintf("%s%s (%s): %sexpected %s", s.name, shown, origin, detail, s.want)
}

// ConfigError tells all that is wrong with the settings. It holds no secrets.
type ConfigError struct {
	Problems []string
}

func (e *ConfigError) Error() string {
	if len(e.Problems) == 1 {
		return "wrong setting: " + e.Problems[0]
	}
	return fmt.Sprintf("%d wrong settings:\n  %s", len(e.Problems), strings.Join(e.Problems, "\n  "))
}

// parseFlags reads --name value and --name=value. Of a flag given twice the
// last one counts.
func parseFlags(args []string) (map[string]given, []string, error) {
	flags := map[string]given{}
	var problems []string
	for i := 0; i < len(args); i++ {
		name, value, hasValue := strings.Cut(args[i], "=")
		if name == "--help" || name == "-help" || name == "-h" {
			return nil, nil, errHelp
		}
		name, isFlag := strings.CutPrefix(name, "--")
		if !isFlag {
			problems = append(problems, fmt.Sprintf("argument %s: expected a flag%s", nameArgument(i, args[i]), hint(args[i], "--", settingNames())))
			continue
		}
		if findSetting(name) == nil {
			problems = append(problems, fmt.Sprintf("unknown flag %s%s", nameArgument(i, "--"+name), hint(name, "--", settingNames())))
			if !hasValue && i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
				i++ // its value, surely
			}
			continue
		}
		if !hasValue && findSetting(name).alone && (i+1 == len(args) || args[i+1] != "true" && args[i+1] != "false") {
			value, hasValue = "true", true
		}
		if !hasValue {
			if i+1 == len(args) || strings.HasPrefix(args[i+1], "--") {
				problems = append(problems, fmt.Sprintf("flag --%s: its value is missing; --%s= means an empty one", name, name))
				continue
			}
			i++
			value = args[i]
		}
		flags[name] = given{value: value, origin: "flag --" + name}
	}
	return flags, problems, nil
}

func environment(getenv func(string) (string, bool)) map[string]given {
	env := map[string]given{}
	for _, s := range settings {
		if value, ok := getenv(s.envName()); ok {
			env[s.name] = given{value: value, origin: "environment " + s.envName()}
		}
	}
	return env
}

func (s *setting) envName() string {
	return "GATEWAY_" + strings.ToUpper(strings.ReplaceAll(s.name, "-", "_"))
}

// firstOf finds the strongest value of a setting; nil where there is none.
func firstOf(name string, sources ...map[string]given) *given {
	for _, source := range sources {
		if g, ok := source[name]; ok {
			return &g
		}
	}
	return nil
}

func findSetting(name string) *setting {
	for i := range settings {
		if settings[i].name == name {
			return &settings[i]
		}
	}
	return nil
}

func settingNames() []string {
	var names []string
	for _, s := range settings {
		names = append(names, s.name)
	}
	return names
}

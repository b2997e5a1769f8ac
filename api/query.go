package api

import (
	"cmp"
	"errors"
	"maps"
	"net/url"
	"slices"
)

// readQuery has read take the parameters of a query, in the order of their names,
// and returns what is wrong with single ones. The error is about all of the query.
func readQuery(rawQuery string, read func(name, value string) error) ([]fault, error) {
	values, err := url.ParseQuery(rawQuery)
	if err != nil {
		return nil, newProblem(codeInvalidParameter, "the query cannot be read: a % must be followed by two hexadecimal digits, and ; is not allowed")
	}
	var faults []fault
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if name == "" {
			return nil, newProblem(codeInvalidParameter, "a parameter has no name")
		}
		if len(values[name]) > 1 {
			faults = append(faults, parameterFault(name, "repeated", "must be given once"))
		} else if err := read(name, values[name][0]); err != nil {
			faults = append(faults, faultOf(name, err))
		}
	}
	return faults, nil
}

// refuseParameters is the problem of what is wrong with parameters; nil where
// nothing is.
func refuseParameters(faults []fault) error {
	if len(faults) == 0 {
		return nil
	}
	slices.SortStableFunc(faults, func(a, b fault) int { return cmp.Compare(a.Parameter, b.Parameter) })
	return newProblem(codeInvalidParameter, "each entry of errors names a parameter", faults...)
}

// errText is what is wrong with a parameter, for the client.
type errText string

func (e errText) Error() string { return string(e) }

func faultOf(parameter string, err error) fault {
	var inFilter *filterFault
	if errors.As(err, &inFilter) {
		f := parameterFault(parameter, inFilter.code, inFilter.Error())
		f.Position = inFilter.position
		return f
	}
	return parameterFault(parameter, "invalid", err.Error())
}

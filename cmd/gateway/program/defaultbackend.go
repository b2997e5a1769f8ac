package program

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ndbgate/ndbgate/store"
)

// maxWeight is the greatest share of a backend: so many steps are between none
// and all.
const maxWeight = 10_000

func defaultBackend() setting {
	return setting{
		name: "default-backend", fallback: ndbName, help: "for requests that choose none; or ndb=90,sql=10",
		want: "a backend that is switched on, or several with weights, such as ndb=90,sql=10",
		list: ",", types: []string{yamlText}, words: []string{ndbName, sqlName},
		parse: func(c *Config, value string) (err error) {
			c.DefaultBackends, err = parseShares(value)
			return err
		},
		show:  func(c *Config) string { return showShares(c.DefaultBackends) },
		check: checkDefaultBackends,
	}
}

// parseShares reads name, or name=weight with commas in between. Its error
// quotes nothing: a DSN may have strayed here.
func parseShares(value string) ([]store.Share, error) {
	parts := strings.Split(value, ",")
	var shares []store.Share
	for i, part := range parts {
		name, text, weighted := strings.Cut(part, "=")
		share := store.Share{Name: strings.TrimSpace(name), Weight: 1}
		if weighted {
			weight, err := strconv.Atoi(strings.TrimSpace(text))
			if err != nil {
				return nil, fmt.Errorf("the weight in part %d of %d is no whole number", i+1, len(parts))
			}
			share.Weight = weight
		} else if len(parts) > 1 {
			return nil, fmt.Errorf("part %d of %d has no weight", i+1, len(parts))
		}
		shares = append(shares, share)
	}
	return shares, nil
}

func showShares(shares []store.Share) string {
	if len(shares) == 1 && shares[0].Weight == 1 {
		return shares[0].Name
	}
	var parts []string
	for _, share := range shares {
		parts = append(parts, fmt.Sprintf("%s=%d", share.Name, share.Weight))
	}
	return strings.Join(parts, ",")
}

func checkDefaultBackends(c *Config) error {
	on := c.backendNames()
	switch {
	case len(on) == 0:
		return errors.New("all backends are switched off; set ndb-connectstring or sql-dsn")
	case len(c.DefaultBackends) == 0:
		return errWant
	}
	seen := map[string]bool{}
	for i, share := range c.DefaultBackends {
		switch {
		case !slices.Contains(on, share.Name) && len(c.DefaultBackends) == 1:
			return fmt.Errorf("switched on: %s", strings.Join(on, ", "))
		case !slices.Contains(on, share.Name):
			return fmt.Errorf("part %d of %d names none that is switched on (%s)", i+1, len(c.DefaultBackends), strings.Join(on, ", "))
		case seen[share.Name]:
			return fmt.Errorf("%s is there twice", share.Name)
		case share.Weight < 1 || share.Weight > maxWeight:
			return fmt.Errorf("the weight of %s is not from 1 to %d", share.Name, maxWeight)
		}
		seen[share.Name] = true
	}
	return nil
}

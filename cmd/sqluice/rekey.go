package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/inspect"
)

func (a *app) rekeyCommand() *cobra.Command {
	var plain, asJSON bool
	cmd := &cobra.Command{
		Use:   "rekey --keys FILE",
		Short: "Encrypt jobs with another key",
		Long: "rekey encrypts again, with the first key of the file that --keys or SQLUICE_KEYS names, what is encrypted with another\n" +
			"key: payloads, results, progress, errors, and the payloads of schedules. Workers may go on meanwhile. To change the key,\n" +
			"give all programs the new key behind the old one, then before it, and then run rekey: after that the old key can go.\n" +
			"What is encrypted with a key that the file does not have, or cannot be decrypted, stays as it is, and rekey exits with 1.",
		GroupID: groupDatabase,
		Args:    noArgs(),
	}
	cmd.Flags().BoolVar(&plain, "plain", false, "also encrypt what is not encrypted")
	jsonFlag(cmd.Flags(), &asJSON)
	cmd.RunE = a.do(func(ctx context.Context, _ []string) error {
		if a.keysFile() == "" {
			return usagef("there are no keys: name their file with --keys or %s", keysVariable)
		}
		return a.withClient(ctx, func(c *jobs.Client) error {
			done, err := inspect.New(c).Rekey(ctx, inspect.RekeyOptions{Plain: plain})
			if err != nil && done.Jobs+done.Errors+done.Schedules+done.Unreadable+done.Damaged == 0 {
				return err
			}
			if asJSON {
				err = errors.Join(err, a.printJSON(done))
			} else {
				a.print("encrypted: %d jobs, %d errors of attempts, %d schedules", done.Jobs, done.Errors, done.Schedules)
			}
			if done.Unreadable > 0 {
				err = errors.Join(err, fmt.Errorf("values are encrypted with keys that the file does not have: %s", keyList(done.Keys)))
			}
			if done.Damaged > 0 {
				err = errors.Join(err, fmt.Errorf("%d values cannot be decrypted with the key of the file that they name: another key had its id, or the values were changed: %s",
					done.Damaged, placeList(done)))
			}
			return err
		})
	})
	return cmd
}

// placeList returns the places of the first damaged values.
func placeList(done inspect.Rekeyed) string {
	const most = 10
	text := strings.Join(done.DamagedAt[:min(len(done.DamagedAt), most)], ", ")
	if done.Damaged > most {
		text += ", and others (--json lists a hundred)"
	}
	return text
}

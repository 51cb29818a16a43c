package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sqluice/sqluice/cmd/sqluice/internal/address"
	"github.com/sqluice/sqluice/internal/move"
	"github.com/sqluice/sqluice/internal/queue/engine"
	"github.com/sqluice/sqluice/jobs"
	"github.com/sqluice/sqluice/jobs/sqlite"
)

const copyHelp = `copy moves the queue from one database to another: from a SQLite file to PostgreSQL, back, or between two of a kind.
It copies jobs with all columns (ids, statuses, attempts, times), the errors of attempts, the workers that have ended,
schedules with their last ticks, pauses of queues and kinds, rules of retention, unique keys, marks of sensitive fields and
the audit. It does not copy the history (the dashboard's charts) and refusals. The target must exist
("sqluice up --db TARGET" makes it) and be empty. Columns that you have added to tables with ids are copied if both sides have them. Others
copy names, and refuses to start, unless --drop-columns leaves their values behind.

Stop the workers of the source first: copy refuses to start while one is live. Then it closes the source: enqueues fail
at once and no worker starts, so that no job is left behind. It closes the target too, copies all rows, and compares
both sides by a count and a SHA-256 of each table. Then it opens the target. The source stays closed; "sqluice reopen"
opens it again. With --keep-open, copy opens both.

Programs that change rows with their own SQL do not notice that the source is closed: stop them too.

If copy is interrupted, run the same command again: it continues. To give up, reopen the source and delete the target.`

func (a *app) copyCommand() *cobra.Command {
	var from, to address.Database
	var keepOpen, dropColumns bool
	cmd := &cobra.Command{
		Use:     "copy --from DATABASE --to DATABASE",
		Short:   "Move the queue to another database",
		Long:    copyHelp,
		GroupID: groupDatabase,
	}
	flags := cmd.Flags()
	flags.Var(&databaseValue{&from}, "from", "the source: "+address.Forms)
	flags.Var(&databaseValue{&to}, "to", "the target, likewise")
	flags.BoolVar(&keepOpen, "keep-open", false, "open the source again at the end: a copy, not a move")
	flags.BoolVar(&dropColumns, "drop-columns", false, "leave behind the values of columns that you have added to one side, or to a table without ids")
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		for _, name := range []string{"from", "to"} {
			if !flags.Changed(name) {
				return usagef("--%s is missing", name)
			}
		}
		if flags.Changed("db") {
			return usagef("--db is not for copy: name the databases with --from and --to")
		}
		return noArgs()(cmd, args)
	}
	cmd.RunE = a.do(func(ctx context.Context, _ []string) error {
		return a.copy(ctx, from, to, move.Config{KeepOpen: keepOpen, DropColumns: dropColumns})
	})
	return cmd
}

func (a *app) copy(ctx context.Context, from, to address.Database, config move.Config) (err error) {
	progress := a.progress()
	defer progress.clear()
	log := newLogger(progress, "text", "warn")
	source, err := openSide(ctx, "--from", from, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeStore(source.Store)) }()
	target, err := openSide(ctx, "--to", to, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeStore(target.Store)) }()

	config.From, config.To, config.Logger = source, target, log
	config.Progress = func(p move.Progress) { progress.report(func() string { return copyLine(p) }) }
	report, err := move.Run(ctx, config)
	progress.clear()
	if tableErr := a.printSums(report.Sums); tableErr != nil {
		err = errors.Join(err, tableErr)
	}
	if err != nil {
		return adviseCopy(ctx, err, source.Name, target.Name)
	}
	a.printMoved(report, source.Name, target.Name)
	return nil
}

// openSide opens a database with full durability: at its end a move records on one side that the other has everything, and
// both records must survive a power loss.
func openSide(ctx context.Context, flag string, d address.Database, log *slog.Logger) (move.Side, error) {
	store, err := openDatabase(ctx, d, log, sqlite.WithDurability(sqlite.Full))
	if err != nil {
		if flag == "--to" && errors.Is(err, os.ErrNotExist) {
			err = fmt.Errorf("%w (run `sqluice up --db %s` to make one)", err, shellQuoted(d.String()))
		}
		return move.Side{}, fmt.Errorf("%s %w", flag, err)
	}
	if err := checkSide(ctx, engine.StoreOf(store), flag, d); err != nil {
		return move.Side{}, errors.Join(err, closeStore(store))
	}
	name := d.String()
	if file, ok := store.(interface{ Path() string }); ok {
		name = file.Path() // absolute: the other side stores it
	}
	return move.Side{Name: name, Store: engine.StoreOf(store)}, nil
}

// checkSide returns an error with the command that migrates a side unless this program runs on its schema.
func checkSide(ctx context.Context, store engine.Store, flag string, d address.Database) error {
	err := engine.CheckSchema(ctx, store)
	if err == nil {
		return nil
	}
	role := map[string]string{"--from": "source", "--to": "target"}[flag]
	if schema := (*jobs.SchemaError)(nil); errors.As(err, &schema) && len(schema.Pending) > 0 {
		return fmt.Errorf("%s %s: %w: here `sqluice up --db %s`", role, d, err, shellQuoted(d.String()))
	}
	return fmt.Errorf("%s %s: %w", role, d, err)
}

func copyLine(p move.Progress) string {
	line := p.Doing
	if p.Rows > 0 {
		line += fmt.Sprintf(": %d rows", p.Rows)
	}
	if p.Percent >= 0 {
		line += fmt.Sprintf(", %d%%", p.Percent)
	}
	return line
}

func (a *app) printSums(sums []move.Sum) error {
	if len(sums) == 0 {
		return nil
	}
	t := newTable(a.out, "TABLE", "SIDE", "ROWS", "SHA-256")
	for _, s := range sums {
		t.row(s.Table, s.Role, fmt.Sprint(s.Rows), s.SHA256)
	}
	return t.close()
}

func (a *app) printMoved(report move.Report, source, target string) {
	source, target = printable(source), printable(target)
	switch {
	case report.Since > 0 && report.SourceOpen:
		a.print("nothing to copy: the copy was completed before; %s is open, and so is %s", source, target)
	case report.Since > 0:
		a.print("nothing to copy: the queue is in %s since %s", target, time.UnixMicro(report.Since).UTC().Format("2006-01-02 15:04:05 UTC"))
	case report.SourceOpen:
		a.print("copied: both sides are the same, and open; the jobs in %s run there as well, if a worker does", target)
	default:
		a.print("moved: both sides are the same, and %s is open", target)
	}
	if len(report.Left) > 0 {
		a.print("the values of these columns were left behind: %s", printable(strings.Join(report.Left, ", ")))
	}
	if !report.SourceOpen {
		a.print("%s stays closed; `sqluice reopen --db %s` opens it again", source, shellQuoted(source))
	}
}

// shellQuoted returns a text in quotes that make it one word for a shell.
func shellQuoted(text string) string {
	if strings.ContainsAny(text, " \t\"'\\`$&|;<>()*?[]#~!{}") {
		return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	return text
}

// adviseCopy adds a remedy to the error of a move.
func adviseCopy(ctx context.Context, err error, source, target string) error {
	if ctx.Err() != nil {
		err = errors.Join(context.Cause(ctx), err)
	}
	advice := ""
	var unfinished *move.UnfinishedError
	var elsewhere *move.ElsewhereError
	switch {
	case errors.Is(err, move.ErrDiffer):
		advice = fmt.Sprintf("%s is not opened: a program changed one side with its own SQL, or by a command such as cancel; "+
			"to start again, run `sqluice reopen --db %s`, delete %s and make it with `sqluice up`", target, shellQuoted(source), target)
	case errors.As(err, &unfinished):
		advice = fmt.Sprintf("the move is not complete: run the same command again to continue, or give up with `sqluice reopen --db %s` and delete %s",
			shellQuoted(source), target)
	case errors.As(err, &elsewhere):
		advice = adviseElsewhere(elsewhere, source)
	case errors.Is(err, move.ErrElsewhere):
		advice = "`sqluice reopen --db DATABASE` opens what another move has closed"
	case errors.Is(err, move.ErrNotEmpty):
		advice = "make an empty one with `sqluice up`: a new file, or in PostgreSQL a new database or another schema (?schema=NAME)"
	case errors.Is(err, move.ErrOwnColumns):
		advice = "add them to the same tables of the other side, and those of tables with ids are copied; or give --drop-columns to leave their " +
			"values behind"
	default:
		return err
	}
	return errors.Join(err, errors.New(advice))
}

// adviseElsewhere returns the remedy for a side that an earlier move has closed.
func adviseElsewhere(e *move.ElsewhereError, source string) string {
	switch {
	case e.IsReverse:
		return fmt.Sprintf("%s still has its jobs, as they were at that move: if nothing has changed in %s since, run `sqluice reopen --db %s` and delete %s; "+
			"otherwise copy to a new, empty database, and delete %s", e.Name, source, shellQuoted(e.Name), source, e.Name)
	case e.IsTarget:
		return fmt.Sprintf("run that `sqluice copy` again to complete it, or delete %s", e.Name)
	default:
		return fmt.Sprintf("`sqluice reopen --db %s` opens it again", shellQuoted(e.Name))
	}
}

package main

// workload is what systems of one engine are compared in; the first is what the others are compared with.
type workload struct {
	engine  string
	name    string
	systems []system
}

func (w workload) title() string { return w.engine + " " + w.name }

var workloads = []workload{
	{onSQLite, "drain", []system{{"raw modernc loop", rawDrain}, {"sqluice", drain}}},
	{onSQLite, "drain beside backlog", []system{{"sqluice, empty table", drain}, {"sqluice, done and scheduled rows", drainBeside(besideBacklog)}}},
	{onSQLite, "drain, 4 processes' worth of stores", []system{{"sqluice", drainStores}}},
	{onSQLite, "insert one by one", []system{{"raw modernc loop", rawInsert}, {"sqluice", insert(1, 5)}}},
	{onSQLite, "insert by 64 callers", []system{{"sqluice", insert(64, 2)}}},
	{onSQLite, "bulk insert", []system{{"raw modernc loop", rawBulk}, {"sqluice", bulk}}},
	{onSQLite, "latency, same process", []system{{"sqluice", latencySame}}},
	{onSQLite, "latency, plain INSERT from another pool", []system{{"sqluice", latencyForeign}}},
	{onSQLite, "latency, other process", []system{{"sqluice", latencyOther}}},
	{onSQLite, "idle worker", []system{{"sqluice", idle}}},

	{onPostgreSQL, "drain", []system{{"raw pgx loop", pgDrain}, {"sqluice", drain}}},
	{onPostgreSQL, "drain by 4 processes", []system{{"raw pgx loop", pgDrainProcesses}, {"sqluice", drainProcesses}}},
	{onPostgreSQL, "drain beside finished rows", []system{{"sqluice, empty table", drain}, {"sqluice, finished rows", drainBeside(besideDone)}}},
	{onPostgreSQL, "insert one by one", []system{{"raw pgx loop", pgInsert}, {"sqluice", insert(1, pgInsertPart)}}},
	{onPostgreSQL, "insert by 64 callers", []system{{"sqluice", insert(64, pgInsertPart)}}},
	{onPostgreSQL, "bulk insert", []system{{"raw pgx COPY", pgBulk}, {"sqluice", bulk}}},
	{onPostgreSQL, "latency, same process", []system{{"sqluice", latencySame}}},
	{onPostgreSQL, "latency, other process", []system{{"raw pgx loop", pgLatencyOther}, {"sqluice", latencyOther}}},
	{onPostgreSQL, "idle worker", []system{{"sqluice", idle}}},
	{onPostgreSQL, "claims", []system{
		{"empty table", claims(besideNothing)}, {"finished rows", claims(besideDone)}, {"old snapshot", claims(besideSnapshot)},
	}},
	{onPostgreSQL, "latency beside other rows", []system{
		{"empty table", latencySame}, {"finished rows", latencyBeside(besideDone)}, {"old snapshot", latencyBeside(besideSnapshot)},
	}},
}

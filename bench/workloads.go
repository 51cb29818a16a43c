package main

// workloads, each with the systems that take turns; the first is what the others are compared with.
var workloads = []struct {
	name    string
	systems []system
}{
	{"drain", []system{{"raw modernc loop", rawDrain}, {"sqluice", drain}}},
	{"drain beside backlog", []system{{"sqluice, empty table", drain}, {"sqluice, done and scheduled rows", drainBacklog}}},
	{"drain, 4 processes' worth of stores", []system{{"sqluice", drainStores}}},
	{"insert one by one", []system{{"raw modernc loop", rawInsert}, {"sqluice", insert}}},
	{"insert by 64 callers", []system{{"sqluice", insertMany}}},
	{"bulk insert", []system{{"raw modernc loop", rawBulk}, {"sqluice", bulk}}},
	{"latency, same process", []system{{"sqluice", latencySame}}},
	{"latency, plain INSERT from another pool", []system{{"sqluice", latencyForeign}}},
	{"idle worker", []system{{"sqluice", idle}}},
}

// Package adoption recognises the queue's tables in a database that has no rows in goose's table for them, as after a dump of the schema
// alone was loaded. It compares the parts of the schema with the parts that each version of the migrations makes, and records the versions
// of the migrations up to the one whose parts are equal.
//
// An engine reads the parts of its database as a list of [Part], runs the migrations in a scratch place and reads the parts there too.
// What the owner of the database has added to the queue's tables stays: columns, indexes, constraints and triggers.
package adoption

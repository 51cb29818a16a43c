// No Go: this file keeps the site, and the packages of npm that it installs, out of the module around it.
module github.com/sqluice/sqluice/site

go 1.26.7

NOTIFY sqluice

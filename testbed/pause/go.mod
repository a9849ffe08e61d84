module pintle.test/testbed/pause

go 1.24

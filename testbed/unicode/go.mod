module testbed/unicode

go 1.26

//! Go's regular expressions (RE2 syntax) on top of regex-automata.

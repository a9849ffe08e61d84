//! Go's text/template: lexer, parser, executor, printing.

-- expect: a line can have at most
log.info(('x'):rep(100000))

-- expect: attempt to index nil with 'info'
debug.info(1, 'f')

-- expect: attempt to index nil with 'getregistry'
debug.getregistry()

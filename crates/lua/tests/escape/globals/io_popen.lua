-- expect: attempt to index nil with 'popen'
io.popen('id')

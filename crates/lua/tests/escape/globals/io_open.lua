-- expect: attempt to index nil with 'open'
io.open('/etc/passwd')

-- expect: attempt to call a nil value
-- granted: os
os.execute('true')

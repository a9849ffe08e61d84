-- expect: attempt to call a nil value
-- granted: os
os.exit(0)

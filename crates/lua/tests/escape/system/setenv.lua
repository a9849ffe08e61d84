-- expect: attempt to call a nil value
-- granted: os
os.setenv('PATH', '/tmp')

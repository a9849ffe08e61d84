-- expect: the script took
-- seconds: 0.5
(('a'):rep(100000)):gsub('%f[%w].-.-.-%f[%W]b', '')

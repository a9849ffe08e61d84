-- expect: the script took
-- seconds: 0.2
(('a'):rep(100000)):gsub('%f[%w].-.-.-%f[%W]b', '')

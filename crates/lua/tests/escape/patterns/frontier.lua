-- expect: the script took
(('a'):rep(100000)):gsub('%f[%w].-.-.-%f[%W]b', '')

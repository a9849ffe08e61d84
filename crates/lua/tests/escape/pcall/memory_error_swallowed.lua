-- expect: more memory than it may
while true do pcall(function() local t = {} while true do t[#t + 1] = ('x'):rep(1000) .. #t end end) end

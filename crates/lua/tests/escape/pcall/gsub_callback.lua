-- expect: the script took
pcall(string.gsub, 'aaa', 'a', function() while true do end end)

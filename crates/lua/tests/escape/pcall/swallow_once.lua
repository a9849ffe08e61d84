-- expect: the script took
pcall(function() while true do end end)

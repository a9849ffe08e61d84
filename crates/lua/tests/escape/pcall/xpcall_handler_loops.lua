-- expect: the script took
xpcall(function() while true do end end, function() while true do end end)

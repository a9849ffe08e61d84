-- expect: `http` needs the permission `network`
local ok, why = pcall(function() return http.get end)
error(why)

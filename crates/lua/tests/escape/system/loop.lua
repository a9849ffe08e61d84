-- expect: steps
-- granted: os
while true do pcall(os.getenv, 'HOME') end

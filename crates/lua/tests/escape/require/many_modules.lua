-- expect: the script took
while true do pcall(require, 'nothing') end

-- expect: a chart can register at most
while true do events.on('pre-render', print) end

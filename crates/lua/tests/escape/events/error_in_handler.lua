-- expect: ext/lua/chart.lua:3: boom
-- at: pre-render
events.on('pre-render', function() error('boom') end)

-- expect: there is no subchart `..`
--== db ext/lua/chart.lua
events.subchart('..'):off('pre-render')

-- expect: there is no subchart `web`; it has none
--== db ext/lua/chart.lua
events.subchart('web'):off('pre-render')

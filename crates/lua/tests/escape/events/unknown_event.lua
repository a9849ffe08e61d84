-- expect: there is no event `pre-instal`; the events are chart-loaded
events.on('pre-instal', print)

-- expect: there is no event `pre-instal`; did you mean `pre-install`?
events.on('pre-instal', print)

-- expect: `install` is a core event
events.on('install', print)
